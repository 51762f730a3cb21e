// Addresses from other IPAM plugins: Debian's, and a test plugin that fails in every possible way.
#include "attachment_stage.hpp"
#include "markdown.hpp"
#include "runtime.hpp"
#include "support/concat.hpp"
#include "support/names.hpp"
#include "support/patience.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

#include <filesystem>

using namespace rdmanet;
using namespace rdmanet::test;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

namespace fs = std::filesystem;

bool has_plugin(const std::string& name) {
    return fs::exists(fs::path(kDebianPlugins) / name);
}

} // namespace

TEST_CASE("host-local gives addresses for old and new versions", "[delegate]") {
    NEEDS(has_plugin("host-local"), "host-local");
    const Stage stage;
    const std::string data = "/tmp/rdmanet-host-local";
    for (const char* version : {"0.1.0", "0.4.0", "1.0.0"}) { // Debian's plugins do not know 1.1.0
        INFO(version);
        const PluginCall call = call_for(stage.pod,
                                         concat("'master':'par0','ipam':{'type':'host-local','dataDir':'", data,
                                                "','subnet':'10.62.0.0/24','routes':[{'dst':'10.63.0.0/16'}]}"),
                                         version);
        const std::string result = add(call);
        CHECK_THAT(result, Contains("\"10.62.0."));
        CHECK(stage.pod.succeeds("ip route get 10.63.1.1 | grep -q 'via 10.62.0.1 dev net1'"));
        if (std::string(version) >= "0.4.0") {
            CHECK(check(call, result) == "");
            shell(concat("rm ", data, "/net/10.62.0.*"));
            CHECK_THAT(check(call, result), Names("IPAM", "host-local", "CHECK"));
        }
        CHECK(del(call) == "");
        CHECK(del(call) == "");
        CHECK(succeeds(concat("! ls ", data, "/net/10.62.0.*")));
        CHECK(stage.node.difference() == "");
    }
    fs::remove_all(data);
}

TEST_CASE("the static plugin gives addresses, in dual stack and as the runtime requests", "[delegate]") {
    NEEDS(has_plugin("static"), "static");
    const CheckedStage stage;
    const PluginCall call = call_for(stage.pod,
                                     "'master':'par0','ipam':{'type':'static','addresses':[{'address':'10.62.0.9/24',"
                                     "'gateway':'10.62.0.1'},{'address':'fd62::9/64'}]}",
                                     "1.0.0");
    const std::string result = add(call);
    CHECK(addresses(result) == "10.62.0.9/24 fd62::9/64");
    CHECK(value(result, "ips.1.interface") == "0");
    CHECK(check(call, result) == "");
    CHECK(del(call) == "");
    const PluginCall asked = with(call, "'runtimeConfig':{'ips':['10.62.0.77/24']}");
    CHECK(addresses(add(asked)) == "10.62.0.77/24");
    CHECK(del(asked) == "");
}

TEST_CASE("the example with a DHCP server gets its lease, and releases it", "[delegate][examples]") {
    NEEDS(has_plugin("dhcp") && succeeds("busybox udhcpd --help 2>&1 | grep -q Usage"), "dhcp and busybox udhcpd");
    const VethParent parent("eth1");
    const Pod pod("pod");
    const Pod server("dhcpserver");
    shell("ip link set eth1peer netns dhcpserver && ip -netns dhcpserver address add 10.64.0.1/24 dev eth1peer && "
          "ip -netns dhcpserver link set eth1peer addrgenmode none up && mkdir -p /tmp/rdmanet-dhcp /run/cni && cd "
          "/tmp/rdmanet-dhcp && "
          "touch leases && printf '%s\\n' 'start 10.64.0.50' 'end 10.64.0.59' 'interface eth1peer' "
          "'lease_file /tmp/rdmanet-dhcp/leases' 'pidfile /tmp/rdmanet-dhcp/pid' 'option subnet 255.255.255.0' "
          "'option router 10.64.0.1' 'option lease 600' > conf");
    shell("cd /tmp/rdmanet-dhcp; setsid ip netns exec dhcpserver busybox udhcpd -f conf </dev/null >server.log 2>&1 & "
          "rm -f /run/cni/dhcp.sock; setsid /usr/lib/cni/dhcp daemon -pidfile /tmp/rdmanet-dhcp/daemon.pid "
          "</dev/null >/tmp/rdmanet-dhcp/daemon.log 2>&1 &");
    wait_until("[ -S /run/cni/dhcp.sock ] && [ -s /tmp/rdmanet-dhcp/pid ]");
    // This kernel may have no RDMA.
    const Network network(replaced(source_text("conf-examples/ipam-dhcp.conflist"), "\"rdma\": true,", ""));
    const Installed installed;
    const UnchangedNode node;
    const Attachment attachment{.netns = pod.path()};
    const std::string result = network.add(attachment);
    CHECK_THAT(addresses(result), StartsWith("10.64.0.5"));
    CHECK(pod.succeeds("ip address show dev net1 | grep -q 'inet 10.64.0.5'"));
    CHECK(network.check(attachment, result) == "");
    CHECK(network.del(attachment, result) == "");
    CHECK(node.difference() == "");
    shell("kill $(</tmp/rdmanet-dhcp/daemon.pid) $(</tmp/rdmanet-dhcp/pid) && rm -rf /tmp/rdmanet-dhcp "
          "/run/cni/dhcp.sock");
}
