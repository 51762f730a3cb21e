// CHECK has no false alarms: it accepts every change by runtimes, Multus and later plugins.
#include "runtime.hpp"
#include "vf_stage.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
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

TEST_CASE("CHECK accepts other spellings of the same value", "[check]") {
    const AttachedStage attached(kRouted);
    const auto& [stage, call, result] = attached;
    const std::string mac = value(result, "interfaces.0.mac");
    std::string upper = mac;
    std::transform(upper.begin(), upper.end(), upper.begin(), [](unsigned char c) { return std::toupper(c); });
    for (const std::string& other :
         {replaced(result, mac, upper), replaced(result, "/run/netns/pod", "/var/run/netns/pod")}) {
        CHECK(other != result);
        CHECK(check(call, other) == "");
    }
    PluginCall by_alias = call;
    by_alias.netns = "/var/run/netns/pod";
    CHECK(check(by_alias, result) == "");
    CHECK(attached.end() == "");
}

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

TEST_CASE("CHECK of a VF ignores settings that its driver does not report", "[check][sriov][vf-settings]") {
    NEEDS_VFS();
    const VfStage stage;
    const std::string vf = concat("ip link set ", stage.vfs.pf(), " vf 0 ");
    const std::string untold = concat(" >/sys/kernel/debug/simrnic/", stage.vfs.pf(), "/vf_untold");
    const PluginCall call =
        vf_call(stage.vfs, stage.pod, 0, "'vlan':100,'max_tx_rate':50,'link_state':'enable','spoofchk':'on'");
    shell(concat("echo Y", untold));
    std::string result = add(call);
    CHECK(check(call, result) == "");
    shell(concat("echo N", untold, " && ", vf, "spoofchk off")); // ADD could not record the earlier value
    CHECK(del(call) == "");
    CHECK(stage.node.difference() == "");

    const PluginCall plain = vf_call(stage.vfs, stage.pod, 0, "'trust':'on'");
    result = add(plain);
    shell(concat(vf, "max_tx_rate 100000")); // some drivers report the port's speed for "no limit"
    CHECK(check(plain, result) == "");
    shell(concat(vf, "max_tx_rate 0"));
    // tuning does this behind rdmanet in a list. The VF's PF may report the address.
    const std::string mac = value(result, "interfaces.0.mac");
    shell(concat(vf, "mac 02:00:00:00:00:67"));
    CHECK(check(plain, replaced(result, mac, "02:00:00:00:00:67")) == "");
    shell(concat(vf, "mac ", mac, " && ", vf, "mac 00:00:00:00:00:00"));
    CHECK(del(plain) == "");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("CHECK recognises its own interface among those of a chain", "[check]") {
    const AttachedStage attached(kRouted);
    const auto& [stage, call, result] = attached;
    const std::string chained =
        shell(concat("jq -c '.interfaces|=[{name:\"cni0\",mac:\"02:00:00:00:00:aa\"},{name:\"eth0\",sandbox:"
                     "\"/run/netns/pod\"}]+.|.ips[].interface=2|.ips+=[{address:\"10.99.0.1/24\",interface:1}]|"
                     ".routes+=[{dst:\"198.51.100.0/24\"}]' <<'END'\n",
                     result, "\nEND"));
    CHECK(check(call, chained) == "");
    CHECK(del(after(call, chained)) == "");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("CHECK accepts every change by the plugin tuning", "[check]") {
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
