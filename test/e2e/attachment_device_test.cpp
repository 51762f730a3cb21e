// Whole functions, and RDMA devices that follow an earlier plugin's interface.
#include "vf_stage.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

#include <filesystem>

namespace rdmanet::test {

using Catch::Contains;
namespace fs = std::filesystem;

namespace {

/// RDMA mode exclusive, and a pod.
struct DeviceStage {
    Vfs vfs{"exclusive", 1};
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
    // "0" comes from a plugin for shared devices. A configuration of the host-device plugin has no "attach".
    for (const PluginCall& call : {chosen(device, "0"), call_for(stage.pod, device)}) {
        CHECK(value(add(call), "interfaces.0.pciID") == address);
        CHECK_THAT(stage.pod.run("rdma link"), Contains("netdev net1"));
        CHECK(del(call) == "");
    }
    CHECK(node.difference() == "");
    shell(concat("ip link property del dev ", stage.spare, " altname sparename"));
}

TEST_CASE("the RDMA device follows the interface of an earlier plugin, and returns to the host before it",
          "[device][rdma][core]") {
    NEEDS_VFS();
    NEEDS(fs::exists("/usr/lib/cni/host-device"), "Debian's host-device plugin");
    const DeviceStage stage;
    PluginCall call = call_for(stage.pod, "'attach':'rdma'", "1.0.0");

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
