// Addresses from other IPAM plugins: Debian's, and a test plugin that fails in every possible way.
#include "attachment_stage.hpp"
#include "fake_plugin.hpp"
#include "markdown.hpp"
#include "runtime.hpp"
#include "support/concat.hpp"
#include "support/names.hpp"
#include "support/patience.hpp"
#include "support/reporter.hpp"

#include <rdmanet/base/file.hpp>

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
    const Stage stage;
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
    CHECK(stage.node.difference() == "");
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

TEST_CASE("the interface exists while a delegate runs ADD, and still exists while it runs DEL", "[delegate]") {
    const Stage stage;
    const FakePlugin plugin;
    plugin.install(concat("ip netns exec pod ip link show $CNI_IFNAME > /dev/null || exit 1\n", kGoodAdd));
    const PluginCall call = fake_call(stage.pod);
    CHECK(addresses(add(call)) == "10.62.0.5/24");
    CHECK(del(call) == "");
    CHECK(FakePlugin::calls() == "ADD DEL ");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("CHECK, GC and STATUS call the delegate, and report its failures", "[delegate]") {
    const Stage stage;
    const FakePlugin plugin;
    plugin.install(kGoodAdd);
    const PluginCall call = fake_call(stage.pod);
    const std::string result = add(call);
    CHECK(check(call, result) == "");
    CHECK(outcome(with(call, "'cni.dev/valid-attachments':[{'containerID':'c1','ifname':'net1'}]"), "GC") == "");
    CHECK(outcome(call, "STATUS") == "");
    CHECK(FakePlugin::calls() == "ADD CHECK GC STATUS ");
    plugin.install(R"([ $CNI_COMMAND = DEL ] || { echo '{"code":51,"msg":"pool is gone"}'; exit 1; })");
    CHECK_THAT(check(call, result), Names("code 51", "fake", "CHECK", "pool is gone"));
    CHECK_THAT(outcome(call, "GC"), Names("fake", "GC", "pool is gone"));
    CHECK_THAT(outcome(call, "STATUS"), Names("code 51", "fake", "STATUS", "pool is gone"));
    CHECK(del(call) == "");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("the result has the delegate's name servers unless the configuration has its own", "[delegate]") {
    const Stage stage;
    const FakePlugin plugin;
    plugin.install(kGoodAdd);
    const PluginCall call = fake_call(stage.pod);
    CHECK(value(add(call), "dns.nameservers.0") == "10.62.0.53");
    CHECK(del(call) == "");
    CHECK(value(add(with(call, "'dns':{'nameservers':['192.0.2.53']}")), "dns.nameservers.0") == "192.0.2.53");
    CHECK(del(call) == "");
    CHECK(stage.node.difference() == "");
}

TEST_CASE("after an edit of the configuration, DEL calls the delegate that gave the address with the recorded input",
          "[delegate]") {
    const Stage stage;
    const FakePlugin plugin;
    plugin.install(concat(kGoodAdd, "\n[ $CNI_COMMAND != DEL ] || cat > $dir/del.json"));
    const PluginCall call = with(fake_call(stage.pod), "'mark':'original'");
    (void)add(call);
    PluginCall edited = call_for(stage.pod, "'master':'absent0','ipam':{'type':'another'},'mtu':'x'");
    edited.path = "/absent";
    edited.netns = "";
    CHECK(del(edited) == "");
    CHECK(FakePlugin::calls() == "ADD DEL ");
    CHECK(base::read_file(FakePlugin::file("del.json"), 4096) == call.config);
    CHECK(stage.node.difference() == "");
}

TEST_CASE("DEL calls the delegate when the pod's namespace is gone, and when there is no record", "[delegate]") {
    const VethParent parent("par0");
    const UnchangedNode node;
    const FakePlugin plugin;
    plugin.install(kGoodAdd);
    {
        Pod pod("pod");
        (void)add(fake_call(pod));
        pod.destroy();
        CHECK(del(fake_call(pod)) == "");
        CHECK(del(fake_call(pod)) == "");
    }
    CHECK(FakePlugin::calls() == "ADD DEL DEL ");
    CHECK(node.difference() == "");
}
