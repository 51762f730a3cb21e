// CHECK has no false alarms: it accepts every change by runtimes, Multus and later plugins.
#include "vf_stage.hpp"

#include "support/concat.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

#include <algorithm>

namespace rdmanet::test {

namespace {

const std::string kRouted =
    concat("'master':'par0',", ipam("10.33.0.0/24", "'gateway':'10.33.0.254','ipRanges':[{'range':'fd33::/64'}],"
                                                    "'routes':[{'dst':'10.34.0.0/16'},{'dst':'0.0.0.0/0'}]"));

} // namespace

TEST_CASE("CHECK right after ADD succeeds for every version that has it", "[check]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
    const Stage stage;
    for (const std::string version : {"0.4.0", "1.0.0", "1.1.0"}) {
        const PluginCall call = call_for(stage.pod, kRouted, version);
        const std::string result = add(call);
        CHECK(value(result, "cniVersion") == version);
        CHECK(check(call, result) == "");
        CHECK(del(call) == "");
    }
    CHECK(stage.node.difference() == "");
}

TEST_CASE("CHECK accepts other spellings of the same value", "[check]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
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
    NEEDS(kernel_has("macvlan"), "macvlan");
    const AttachedStage attached(kRouted);
    const auto& [stage, call, result] = attached;
    stage.pod.run("ip address add 10.33.0.77/24 dev net1");
    stage.pod.run("ip address add fd33::77/64 dev net1 nodad");
    CHECK(check(call, result) == "");
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

TEST_CASE("CHECK of a VF ignores settings that its driver does not report or that an older record lacks",
          "[check][sriov]") {
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
    shell("sed -i '/\"vfSettings\": {/,/}/d' /run/rdmanet/attachments/*");
    shell(concat(vf, "vlan 9"));
    CHECK(check(plain, result) == "");
    shell(concat(vf, "vlan 0"));
    CHECK(del(plain) == "");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("CHECK recognises its own interface among those of a chain", "[check]") {
    NEEDS(kernel_has("macvlan"), "macvlan");
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

} // namespace rdmanet::test
