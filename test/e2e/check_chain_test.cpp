// CHECK behind other plugins of a chain: their changes of our interface are not differences.
#include "attachment_stage.hpp"
#include "runtime.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

#include <filesystem>

namespace rdmanet::test {

namespace {

/// Our plugin with MTU 1400, then `tuning` with everything that it can change.
Network tuned() {
    return Network(json_text(
        "{'cniVersion':'1.0.0','name':'tuned','plugins':[{'type':'rdmanet','attach':'macvlan','master':'par0',"
        "'mtu':1400,'ipam':{'type':'rdmanet','range':'10.36.0.0/24','cooldown':0,'routes':[{'dst':'10.37.0.0/16'}],"
        "'gateway':'10.36.0.254'}},{'type':'tuning','mac':'02:00:00:00:03:06','mtu':1300,'promisc':true,"
        "'allmulti':true,'sysctl':{'net.ipv4.conf.net1.arp_filter':'1'}}]}"));
}

} // namespace

TEST_CASE("CHECK accepts every change by the plugin tuning", "[check]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    NEEDS(std::filesystem::exists(concat(kDebianPlugins, "/tuning")), "Debian's tuning plugin");
    const Stage stage;
    const Installed installed;
    const Network network = tuned();
    const Attachment attachment{.netns = stage.pod.path()};
    const std::string result = network.add(attachment);
    CHECK(mac_of(stage.pod) == "02:00:00:00:03:06");
    stage.pod.run("ip link show net1 | grep PROMISC | grep 'mtu 1300'");
    CHECK(network.check(attachment, result) == "");
    // The result of `tuning` has the MAC, so another MAC is still a difference.
    stage.pod.run("ip link set net1 address 02:00:00:00:03:07");
    CHECK_THAT(network.check(attachment, result), Names("CHECK", "code 107", "net1", "MAC", "02:00:00:00:03:07"));
    CHECK(network.del(attachment, result) == "");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("CHECK compares the addresses of ADD that prevResult still has", "[check]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const Stage stage;
    const PluginCall call =
        call_for(stage.pod, concat("'master':'par0',", ipam("10.38.0.0/24", "'ipRanges':[{'range':'fd38::/64'}]")));
    const std::string result = add(call);
    const auto edited = [&](const std::string& filter) {
        return shell(concat("jq -c '", filter, "' <<'END'\n", result, "\nEND"));
    };
    // A later plugin added an address of its own. It may have removed the address since.
    CHECK(check(call, edited(".ips+=[{address:\"10.38.9.9/24\",interface:0}]")) == "");
    // A later plugin removed one of our addresses, and its result says so.
    stage.pod.run("ip address del fd38::1/64 dev net1");
    CHECK_THAT(check(call, result), Names("code 107", "net1", "lacks", "fd38::1/64"));
    CHECK(check(call, edited(".ips|=map(select(.address!=\"fd38::1/64\"))")) == "");
    CHECK(del(call) == "");
    CHECK(stage.node.difference() == "");
}

} // namespace rdmanet::test
