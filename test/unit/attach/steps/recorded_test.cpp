// How each kind of step is recorded. What earlier versions wrote is read, and written again unchanged.
#include "steps/registry.hpp"
#include "support/concat.hpp"
#include "support/directory.hpp"
#include "support/names.hpp"

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/file.hpp>

#include <catch2/catch.hpp>

#include <chrono>
#include <string>
#include <string_view>

using namespace rdmanet;
using namespace rdmanet::attach;
using Catch::Contains;
using rdmanet::test::concat;
using rdmanet::test::Names;

namespace {

state::Step read(std::string_view text) {
    return read_step(json::Document::parse(text).root());
}

std::string by_hand(std::string_view text) {
    return describe_unreverted(read(text), base::Deadline::in(std::chrono::seconds{60}));
}

constexpr const char* kKeptDevice = R"({"step": "keep-device", "device": "0000:3b:00.2", "name": "ens1f0v0",
    "mac": "02:00:00:00:00:02", "mtu": 9000, "up": true, "promiscuous": true, "allMulticast": true,
    "ipv6AddressMode": 1, "altnames": ["enp59s0f0v0"], "alias": "", "group": 5, "txQueueLength": 1000,
    "gsoMaxSize": 65536, "gsoMaxSegs": 65535, "groMaxSize": 4294967295, "gsoIpv4MaxSize": 40000,
    "groIpv4MaxSize": 50000, "wantedFeatures": [4294967295, 0, 1], "activeFeatures": [0, 7], "xdpPrograms": [97, 98],
    "files": [{"file": "gro_flush_timeout", "value": "0"}, {"file": "queues/tx-0/tx_maxrate", "value": "100"}]})";

constexpr const char* kSettings = R"({"step": "set-vf", "pf": "0000:3b:00.0", "vf": 3, "device": "0000:3b:00.2",
    "vlanQoS": 7, "vlanProto": "802.1ad", "mac": "00:00:00:00:00:00", "vlan": 4094, "minTxRate": 1,
    "maxTxRate": 4294967295, "spoofchk": true, "trust": false, "linkState": "auto",
    "nodeGuid": "02:00:00:00:00:00:00:01", "portGuid": "02:00:00:00:00:00:00:02"})";

constexpr const char* kInterface = R"({"step": "move-interface", "kind": "dummy", "ifindex": 8, "ifname": "net1",
    "macInPod": "02:00:00:00:00:05", "ifindexInPod": 9, "before": {"step": "keep-device", "device": "dummy0",
    "name": "dummy0", "mac": "02:00:00:00:00:04", "mtu": 1500, "up": false, "promiscuous": false,
    "allMulticast": false, "altnames": []}})";

// Steps as today's version writes them, and as earlier versions did, which left members out.
const char* const kSteps[] = {
    R"({"step": "create-link", "kind": "macvlan", "mode": "macvlan mode bridge", "ifname": "net1", "parent": "eth1",
        "parentIfindex": 7, "parentInPod": true, "mac": "02:00:00:00:00:01", "ifindex": 3})",
    kKeptDevice,
    R"({"step": "keep-device", "device": "0001:00:01.0", "name": "rnic0p0v0", "mac": "02:52:00:00:00:01", "mtu": 1500,
        "up": false, "promiscuous": false, "allMulticast": false, "ipv6AddressMode": 0, "altnames": []})",
    R"({"step": "rebind-driver", "device": "0000:3b:00.2", "driver": "mlx5_core", "guid": "02:00:00:00:00:00:00:03",
        "nodeGuid": "18446744073709551615"})",
    R"({"step": "reset-function", "device": "0000:3b:00.2", "driver": "simrnic", "rdmaNames": ["roce0", "roce1"]})",
    R"({"step": "reset-function", "device": "0000:3b:00.2", "driver": "uio_pci_generic", "rdmaNames": []})",
    kSettings,
    R"({"step": "set-vf", "pf": "0001:00:00.0", "vf": 0, "vlanQoS": 0, "vlanProto": "802.1q", "vlan": 0})",
    R"({"step": "set-representor", "pf": "0000:3b:00.0", "vf": 3, "ifindex": 9, "name": "ens1f0r3", "wasDown": true,
        "hadIpv6": true, "mtu": 1500, "device": "0000:3b:00.2"})",
    R"({"step": "move-link", "device": "0000:3b:00.2", "ifname": "net1"})",
    R"({"step": "move-rdma", "device": "0000:3b:00.2", "index": 5, "nodeGuid": "18446744073709551615",
        "name": "mlx5_3", "nameInPod": "rdma0", "stayed": [6, 4294967295]})",
    R"({"step": "move-rdma", "device": "0000:3b:00.2", "index": 2, "nodeGuid": "23082047568347137", "name": "roce0"})",
    kInterface,
    R"({"step": "write-device-info", "path": "/run/k8s.cni.cncf.io/devinfo/cni/a"})",
    R"({"step": "delegate-ipam", "plugin": "host-local", "config": "{\"name\":\"roce\"}", "args": "A=b",
        "path": "/x", "refused": true})",
    R"({"step": "delegate-ipam", "plugin": "p", "config": "", "args": "", "path": ""})",
};

} // namespace

TEST_CASE("steps of all versions are read, and written again unchanged") {
    for (const std::string text : kSteps) {
        const state::Step step = read(text);
        CHECK(json::Document::parse(step.json).root().to_text() == json::Document::parse(text).root().to_text());
        const bool names_device = text.find("\"device\": \"0000:3b:00.2\"") != std::string::npos;
        CHECK((step.holds.device == "0000:3b:00.2") == names_device);
        CHECK(step.holds.is_for_others == (step.kind == kWriteDeviceInfo || step.kind == kDelegateIpam));
        CHECK(step.holds.rdma.has_value() == (step.kind == kMoveRdma));
        CHECK(step.holds.device_info == (step.kind == kWriteDeviceInfo ? "a" : ""));
    }
    const state::Child child = read(kSteps[0]).holds.child.value();
    CHECK((child.kind == "macvlan" && child.parent_ifindex == 7 && child.parent_in_pod));
    std::string twice = kKeptDevice;
    twice.replace(twice.find("queues/tx-0/tx_maxrate"), 22, "gro_flush_timeout");
    CHECK_THROWS_WITH(read(twice), Names("files[1].file", "gro_flush_timeout"));
    CHECK_THROWS_WITH(read(R"({"step": "rebind-driver", "device": "", "driver": "", "guid": "", "nodeGuid": "07"})"),
                      Names("nodeGuid", "\"07\""));
}

TEST_CASE("a step of an earlier version, which did not name its device, gets it from the record") {
    state::Step step = read(kSteps[7]);
    CHECK(step.holds.device.empty());
    name_device(step, "0001:00:01.0");
    CHECK(step.holds.device == "0001:00:01.0");
    CHECK(read(step.json).holds.device == "0001:00:01.0");
}

TEST_CASE("a step that this version does not know, or that lacks a member, is refused, never skipped") {
    CHECK_THROWS_WITH(read(R"({"step": "move-device", "device": "0000:3b:00.2"})"), Names("step", "move-device"));
    CHECK_THROWS_WITH(read(R"({"step": "move-link", "device": "0000:3b:00.2"})"), Names("ifname"));
    CHECK_THROWS_WITH(read(R"({"step": "move-link", "device": 7, "ifname": "net1"})"), Names("device", "7"));
    CHECK_THROWS_AS(read(R"({"device": "0000:3b:00.2"})"), json::ValueError);
}

TEST_CASE("steps in a record of an earlier version report what they hold and what to undo") {
    const std::string head = R"({"version": 1, "network": "net", "containerID": "c1", "ifname": "net1", "role": "",
        "phase": "attached", "attach": "sriov", "bootID": "c5a9c151-6e37-456d-8f1e-86d0949e8c80",
        "pidNamespace": "4026531836", "created": 1795365561,
        "netns": {"path": "/run/netns/pod", "device": "4", "inode": "4026532166", "cookie": "2"},
        "pod": {"namespace": "", "name": "", "uid": ""}, "rdmaDevice": "roce0p0v0",
        "leases": [{"space": "", "slot": 0, "address": "10.0.0.1/24", "cooldown": 30}], "ips": ["10.0.0.1/24"],
        "routes": [], "steps": [)";
    const auto record = state::AttachmentRecord::parse(concat(head, kKeptDevice, ", ", kSettings, "]}"), read_step);
    CHECK(record.device() == "0000:3b:00.2");
    CHECK_FALSE(record.vf_settings);
    CHECK_FALSE(record.created_since_boot);
    CHECK_FALSE(record.wanted);
    CHECK(describe(record.steps.at(0)) == "device 0000:3b:00.2");
    CHECK(describe(record.steps.at(1)) == "settings of VF 3 of PF 0000:3b:00.0");
    CHECK(state::AttachmentRecord::parse(record.to_text(), read_step).to_text() == record.to_text());
    CHECK_THROWS_WITH(state::AttachmentRecord::parse(concat(head, kKeptDevice, R"(, {"step": "x"}]})"), read_step),
                      Names("steps[1].step", "\"x\""));
}

TEST_CASE("a step that is given up says what to do by hand, and the recorded values that this leaves out") {
    CHECK_THAT(by_hand(kKeptDevice), Names("0000:3b:00.2", "restore", R"(recorded as {"step":"keep-device")",
                                           "enp59s0f0v0", R"("queues/tx-0/tx_maxrate")"));
    CHECK_THAT(by_hand(kInterface), Names("net1", "recorded as", "dummy0"));
    CHECK_THAT(by_hand(R"({"step": "delegate-ipam", "plugin": "dhcp", "config": "{\"name\":\"net\"}", "args": "",
        "path": "/opt/cni/bin"})"),
               Names("dhcp", "CNI_COMMAND=DEL", "recorded as", "/opt/cni/bin"));
    CHECK_THAT(by_hand(R"({"step": "move-link", "device": "0000:3b:00.2", "ifname": "net1"})"),
               Names("0000:3b:00.2", "the kernel returns it") && !Contains("recorded as"));
}

TEST_CASE("nothing is done by hand for a device that is gone, or for a file of another plugin") {
    CHECK_THAT(by_hand(R"({"step": "set-vf", "pf": "ffff:ff:1f.0", "vf": 3, "vlanQoS": 0, "vlanProto": ""})"),
               Contains("nothing to do") && !Contains("`"));
    CHECK_THAT(by_hand(R"({"step": "reset-function", "device": "ffff:ff:1f.7", "driver": "mlx5_core",
        "rdmaNames": ["mlx5_3"]})"),
               Contains("nothing to do") && !Contains("`"));
    CHECK_THAT(by_hand(R"({"step": "rebind-driver", "device": "ffff:ff:1f.7", "driver": "mlx5_core",
        "guid": "02:00:00:00:00:00:00:02", "nodeGuid": "7"})"),
               Contains("nothing to do") && !Contains("`"));
    const rdmanet::test::Directory directory;
    const std::string path = directory.file("info");
    const std::string step = concat(R"({"step": "write-device-info", "path": ")", path, "\"}");
    base::write_file_durably(path, R"({"type": "vdpa"})");
    CHECK_THAT(by_hand(step), Contains("nothing to do") && !Contains("`"));
    base::write_file_durably(path, R"({"type": "pci"})");
    CHECK_THAT(by_hand(step), Names(path, "remove") && !Contains("nothing to do"));
}
