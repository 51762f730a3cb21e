// CHECK has no false alarms: it accepts every change by runtimes, Multus and later plugins.
#include "attachment_stage.hpp"
#include "runtime.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

#include <filesystem>

namespace rdmanet::test {

namespace {

const std::string kRouted =
    concat("'master':'par0',", ipam("10.33.0.0/24", "'gateway':'10.33.0.254','ipRanges':[{'range':'fd33::/64'}],"
                                                    "'routes':[{'dst':'10.34.0.0/16'},{'dst':'0.0.0.0/0'}]"));

/// Our plugin with MTU 1400, then `tuning` with everything that it can change.
Network tuned() {
    return Network(json_text(
        "{'cniVersion':'1.0.0','name':'tuned','plugins':[{'type':'rdmanet','attach':'macvlan','master':'par0',"
        "'mtu':1400,'ipam':{'type':'rdmanet','range':'10.36.0.0/24','cooldown':0,'routes':[{'dst':'10.37.0.0/16'}],"
        "'gateway':'10.36.0.254'}},{'type':'tuning','mac':'02:00:00:00:03:06','mtu':1300,'promisc':true,"
        "'allmulti':true,'sysctl':{'net.ipv4.conf.net1.arp_filter':'1'}}]}"));
}

} // namespace

TEST_CASE("CHECK ignores what other programs may change", "[check]") {
    const AttachedStage attached(kRouted);
    const auto& [stage, call, result] = attached;
    // sbr does this.
    stage.pod.run("ip route add 10.34.0.0/16 via 10.33.0.254 table 100");
    stage.pod.run("ip route del 10.34.0.0/16");
    CHECK(check(call, result) == "");
    // Multus does this for a pod whose default route is another network's. It removes the route from the kernel and
    // from the result.
    stage.pod.run("ip route del default");
    const std::string edited =
        shell(concat("jq -c '.routes|=map(select(.dst!=\"0.0.0.0/0\"))' <<'END'\n", result, "\nEND"));
    CHECK(check(call, edited) == "");
    CHECK(attached.end() == "");
}

TEST_CASE("CHECK accepts every change by the plugin tuning", "[check]") {
    NEEDS(std::filesystem::exists(concat(kDebianPlugins, "/tuning")), "Debian's tuning plugin");
    const CheckedStage stage;
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
}

} // namespace rdmanet::test
