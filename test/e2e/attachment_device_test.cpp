// Whole functions, and RDMA devices that follow an earlier plugin's interface.
#include "attachment_stage.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"
#include "support/reporter.hpp"
#include "support/vf_node.hpp"

#include <catch2/catch.hpp>

#include <filesystem>

namespace rdmanet::test {

using Catch::Contains;
namespace fs = std::filesystem;

namespace {

/// RDMA mode exclusive, and a pod.
struct DeviceStage {
    VfNode vfs{"exclusive", 1};
    std::string spare = rdma_parent(1); // the second card's only port
    Pod pod{"pod"};
    UnchangedNode node;
};

PluginCall device_call(const Pod& pod, const std::string& members) {
    return call_for(pod, concat("'attach':'host-device',", members));
}

} // namespace

TEST_CASE("a whole function moves into the pod with its RDMA device, whichever key names it, also from a dead pod",
          "[device]") {
    NEEDS_VFS();
    const DeviceStage stage;
    const std::string address = fs::read_symlink(concat("/sys/class/net/", stage.spare, "/device")).filename();
    const std::string path = fs::canonical(concat("/sys/class/net/", stage.spare, "/device"));
    const std::string device = concat("'device':'", stage.spare, '\'');
    const std::string hwaddr = "'hwaddr':'02:52:01:00:00:00'";
    shell(concat("ip link property add dev ", stage.spare, " altname sparename"));
    const UnchangedNode node;
    for (const std::string& name : {device, std::string("'device':'sparename'"), hwaddr,
                                    concat("'kernelpath':'", path, '\''), concat("'deviceID':'", address, '\'')}) {
        INFO(name);
        const std::string members =
            concat(name, ",'rdma':true,'mtu':1400,'mac':'02:00:00:00:00:77',", ipam("10.94.0.0/24"));
        const PluginCall call = device_call(stage.pod, members);
        {
            const Pod other("other");
            (void)add(of(device_call(other, members), "other"));
            CHECK_THAT(refusal(call), Names("code 102", "container \"other\""));
        }
        const std::string result = add(call);
        CHECK(value(result, "interfaces.0.pciID") == address);
        CHECK(value(result, "interfaces.0.mtu") == "1400");
        CHECK_THAT(stage.pod.run("rdma link"), Contains("netdev net1"));
        CHECK_FALSE(succeeds(concat("ip link show ", stage.spare)));
        CHECK(check(call, result) == "");
        CHECK(del(call) == "");
        CHECK(node.difference() == "");
    }
    const auto chosen = [&](const std::string& name, const std::string& id) { // Multus writes it so
        return device_call(stage.pod, concat(name, ",'deviceID':'", id, "','pciBusID':'", id, "'"));
    };
    for (const std::string& name : {device, hwaddr})
        CHECK_THAT(refusal(chosen(name, stage.vfs.vf(0))), Names("code 7", address, stage.vfs.vf(0)));
    // "0" comes from a plugin for shared devices. A configuration of the host-device plugin has no "attach".
    for (const PluginCall& call : {chosen(device, "0"), call_for(stage.pod, device)}) {
        CHECK(value(add(call), "interfaces.0.pciID") == address);
        CHECK_THAT(stage.pod.run("rdma link"), Contains("netdev net1"));
        CHECK(del(call) == "");
    }
    CHECK(node.difference() == "");
    shell(concat("ip link property del dev ", stage.spare, " altname sparename"));
}

TEST_CASE("a device that the node needs is refused", "[device]") {
    NEEDS_VFS();
    const DeviceStage stage;
    const auto refused = [&](const std::string& name) {
        return refusal(device_call(stage.pod, concat("'device':'", name, '\'')));
    };
    CHECK_THAT(refused(stage.vfs.pf()), Names("code 102", "1 VF..."));
    shell(concat("ip link add br0 type bridge && ip link set ", stage.spare, " master br0"));
    CHECK_THAT(refused(stage.spare), Names("br0"));
    shell(concat("ip link delete br0 && ip link set ", stage.spare, " up && ip addr add 10.95.0.1/24 dev ", stage.spare,
                 " && ip route add default via 10.95.0.2"));
    const std::string needed = "default route";
    CHECK_THAT(refused(stage.spare), Contains(needed));
    shell(concat("ip addr flush dev ", stage.spare, " && ip link add vlan5 link ", stage.spare,
                 " up type vlan id 5 && ip route add default dev vlan5 metric 77"));
    CHECK_THAT(refused(stage.spare), Contains(needed));
    shell("ip link delete vlan5");
    shell(concat("ip -6 route add default dev ", stage.spare));
    CHECK_THAT(refused(stage.spare), Contains(needed));
    shell(concat("ip -6 route del default dev ", stage.spare));
    CHECK(stage.node.difference() == "");
}

TEST_CASE("the RDMA device follows the interface of an earlier plugin, and returns to the host before it",
          "[device][rdma][core]") {
    NEEDS_VFS();
    NEEDS(fs::exists("/usr/lib/cni/host-device"), "Debian's host-device plugin");
    const DeviceStage stage;
    PluginCall call = call_for(stage.pod, "'attach':'rdma'", "1.0.0");
    CHECK_THAT(refusal(call), Names("code 7", "prevResult", "missing"));
    const std::string elsewhere = "{\"cniVersion\":\"1.0.0\",\"interfaces\":[{\"name\":\"eth9\"}]}";
    CHECK_THAT(refusal(after(call, elsewhere)), Names("net1", "is not in /run/netns/pod"));
    stage.pod.run("ip link add net1 type veth peer name other");
    CHECK_THAT(refusal(after(call, elsewhere)), Names("net1", "PCI"));
    stage.pod.run("ip link delete net1");
    CHECK(del(call) == "");

    // Two entries of rdmanet work in one list: one gives the earlier plugin its addresses, one moves the RDMA device.
    PluginCall first = call;
    first.program = "/usr/lib/cni/host-device";
    first.path = fs::path(binary()).parent_path();
    first.config = json_text(concat("{'cniVersion':'1.0.0','name':'net','type':'host-device','pciBusID':'",
                                    stage.vfs.vf(0), "',", ipam("10.102.0.0/24"), '}'));
    const std::string earlier = add(first);
    CHECK(addresses(earlier) == "10.102.0.1/24");
    call = after(call, earlier);
    const std::string result = add(call);
    CHECK(addresses(result) == "10.102.0.1/24");
    CHECK(value(result, "interfaces.0.name") == value(earlier, "interfaces.0.name"));
    CHECK(value(result, "interfaces.0.mac") == value(earlier, "interfaces.0.mac"));
    CHECK_THAT(stage.pod.run("rdma link"),
               Contains(concat("link ", stage.vfs.rdma(0), "/1")) && Contains("netdev net1"));
    CHECK(outcome(after(call, result), "CHECK") == "");
    CHECK(del(call) == "");
    CHECK(succeeds(concat("rdma dev show ", stage.vfs.rdma(0))));
    CHECK_THAT(shell(concat(binary(), " state --json")), Contains("10.102.0.1"));
    CHECK(outcome(first, "DEL") == "");
    shell(concat("ip link set ", stage.vfs.netdev(0), " alias ''")); // the other plugin leaves its alias
    CHECK(stage.node.difference() == "");
}

} // namespace rdmanet::test
