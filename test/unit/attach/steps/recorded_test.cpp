// How each kind of step is recorded. What earlier versions wrote is read, and written again unchanged.
#include "../../base/temporary_directory.hpp"
#include "steps/child_link.hpp"
#include "steps/delegate.hpp"
#include "steps/device_info.hpp"
#include "steps/keep_device.hpp"
#include "steps/move_interface.hpp"
#include "steps/move_link.hpp"
#include "steps/move_rdma.hpp"
#include "steps/rebind_driver.hpp"
#include "steps/recorded.hpp"
#include "steps/registry.hpp"
#include "steps/representor.hpp"
#include "steps/reset_function.hpp"
#include "steps/vf_settings.hpp"
#include "support/concat.hpp"
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

/// Reads a step, and checks that it is written with everything that it was read from.
template <class Value>
Value value_of(std::string_view text) {
    const state::Step step = read(text);
    CHECK(json::Document::parse(step.json).root().to_text() == json::Document::parse(text).root().to_text());
    CHECK(read(step.json).json == step.json);
    return parse_if<Value>(step).value();
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

} // namespace

TEST_CASE("a child is recorded with its parent, through which it is found") {
    const char* const text = R"({"step": "create-link", "kind": "macvlan", "mode": "macvlan mode bridge",
        "ifname": "net1", "parent": "eth1", "parentIfindex": 7, "parentInPod": true, "mac": "02:00:00:00:00:01",
        "ifindex": 3})";
    const auto link = value_of<CreateLink>(text);
    CHECK(link.ifname == "net1");
    CHECK(link.ifindex == 3);
    const state::Child child = read(text).holds.child.value();
    CHECK(child.kind == "macvlan");
    CHECK(child.mode == "macvlan mode bridge");
    CHECK(child.parent == "eth1");
    CHECK(child.parent_ifindex == 7);
    CHECK(child.parent_in_pod);
    CHECK(child.mac == "02:00:00:00:00:01");
    CHECK(read(text).holds.device.empty());
}

TEST_CASE("a device is recorded with the whole baseline of its interface") {
    const LinkBefore before = value_of<KeepDevice>(kKeptDevice).before;
    CHECK(read(kKeptDevice).holds.device == "0000:3b:00.2");
    CHECK(before.name == "ens1f0v0");
    CHECK(before.mac == "02:00:00:00:00:02");
    CHECK(before.mtu == 9000);
    CHECK(before.up);
    CHECK(before.promiscuous);
    CHECK(before.all_multicast);
    CHECK(before.ipv6_address_mode == 1);
    CHECK(before.altnames == std::vector<std::string>{"enp59s0f0v0"});
    CHECK(before.alias == "");
    CHECK(before.tuning.group == 5);
    CHECK(before.tuning.transmit_queue_length == 1000);
    CHECK(before.tuning.gso_max_size == 65536);
    CHECK(before.tuning.gso_max_segments == 65535);
    CHECK(before.tuning.gro_max_size == UINT32_MAX);
    CHECK(before.tuning.gso_ipv4_max_size == 40000);
    CHECK(before.tuning.gro_ipv4_max_size == 50000);
    CHECK(before.files ==
          std::map<std::string, std::string>{{"gro_flush_timeout", "0"}, {"queues/tx-0/tx_maxrate", "100"}});
    CHECK(before.wanted_features == std::vector<std::uint32_t>{UINT32_MAX, 0, 1});
    CHECK(before.active_features == std::vector<std::uint32_t>{0, 7});
    CHECK(before.xdp_programs == std::vector<std::uint32_t>{97, 98});
    std::string twice = kKeptDevice;
    twice.replace(twice.find("queues/tx-0/tx_maxrate"), 22, "gro_flush_timeout");
    CHECK_THROWS_WITH(read(twice), Names("files[1].file", "gro_flush_timeout"));
}

TEST_CASE("a driver and a reset are recorded with what the next driver must find") {
    const auto driver = value_of<RebindDriver>(R"({"step": "rebind-driver", "device": "0000:3b:00.2",
        "driver": "mlx5_core", "guid": "02:00:00:00:00:00:00:03", "nodeGuid": "18446744073709551615"})");
    CHECK(driver.device == "0000:3b:00.2");
    CHECK(driver.driver == "mlx5_core");
    CHECK(driver.guid == "02:00:00:00:00:00:00:03");
    CHECK(driver.node_guid == UINT64_MAX);
    CHECK_THROWS_WITH(read(R"({"step": "rebind-driver", "device": "", "driver": "", "guid": "", "nodeGuid": "07"})"),
                      Names("nodeGuid", "\"07\""));
    const char* const text = R"({"step": "reset-function", "device": "0001:00:01.0", "driver": "simrnic",
        "rdmaNames": ["roce0p0v0", "roce0p0v1"]})";
    const auto reset = value_of<ResetFunction>(text);
    CHECK(read(text).holds.device == "0001:00:01.0");
    CHECK(reset.driver == "simrnic");
    CHECK(reset.rdma_names == std::vector<std::string>{"roce0p0v0", "roce0p0v1"});
    CHECK(value_of<ResetFunction>(R"({"step": "reset-function", "device": "0001:00:01.1", "driver": "uio_pci_generic",
        "rdmaNames": []})")
              .rdma_names.empty());
}

TEST_CASE("settings of a VF and its representor are recorded as they were") {
    const auto settings = value_of<SetVf>(kSettings);
    CHECK(read(kSettings).holds.device == "0000:3b:00.2");
    CHECK(settings.pf == "0000:3b:00.0");
    CHECK(settings.number == 3);
    CHECK(settings.before ==
          kernel::VfSettings{.mac = base::MacAddress::parse("00:00:00:00:00:00"),
                             .vlan = base::VfVlan{.id = 4094, .qos = 7, .protocol = base::VlanProtocol::dot1ad},
                             .rates = base::VfRates{.least_mbps = 1, .most_mbps = UINT32_MAX},
                             .spoof_check = true,
                             .trust = false,
                             .link_state = base::VfLinkState::automatic,
                             .node_guid = base::Guid::parse("02:00:00:00:00:00:00:01"),
                             .port_guid = base::Guid::parse("02:00:00:00:00:00:00:02")});
    const auto port = value_of<SetRepresentor>(R"({"step": "set-representor", "pf": "0000:3b:00.0", "vf": 3,
        "ifindex": 9, "name": "ens1f0r3", "wasDown": true, "hadIpv6": true, "mtu": 1500, "device": "0000:3b:00.2"})");
    CHECK(port.ifindex == 9);
    CHECK(port.name == "ens1f0r3");
    CHECK(port.mtu == 1500U);
    CHECK(port.was_down);
    CHECK(port.had_ipv6);
    CHECK(port.device == "0000:3b:00.2");
}

TEST_CASE("moves are recorded with what identifies them on both sides") {
    const auto link = value_of<MoveLink>(R"({"step": "move-link", "device": "0000:3b:00.2", "ifname": "net1"})");
    CHECK(link.device == "0000:3b:00.2");
    CHECK(link.ifname == "net1");
    const char* const text = R"({"step": "move-rdma", "device": "0000:3b:00.2", "index": 5,
        "nodeGuid": "18446744073709551615", "name": "mlx5_3", "nameInPod": "rdma0", "stayed": [6, 4294967295]})";
    const auto rdma = value_of<MoveRdma>(text);
    CHECK(rdma.name_in_pod == "rdma0");
    CHECK(rdma.stayed == std::vector<std::uint32_t>{6, UINT32_MAX});
    const state::Holds holds = read(text).holds;
    CHECK(holds.device == "0000:3b:00.2");
    CHECK(holds.rdma.value().index == 5);
    CHECK(holds.rdma.value().node_guid == UINT64_MAX);
    CHECK(holds.rdma.value().name == "mlx5_3");
    const auto interface = value_of<MoveInterface>(kInterface);
    CHECK(read(kInterface).holds.device == "dummy0");
    CHECK(interface.before.mac == "02:00:00:00:00:04");
    CHECK(interface.kind == "dummy");
    CHECK(interface.ifindex == 8);
    CHECK(interface.mac_in_pod == "02:00:00:00:00:05");
    CHECK(interface.ifindex_in_pod == 9);
}

TEST_CASE("what other programs still have to release holds no device") {
    const char* const file = R"({"step": "write-device-info", "path": "/run/k8s.cni.cncf.io/devinfo/cni/a"})";
    CHECK(value_of<WriteDeviceInfo>(file).path == "/run/k8s.cni.cncf.io/devinfo/cni/a");
    CHECK(read(file).holds.device_info == "a");
    CHECK(read(file).holds.is_for_others);
    const char* const text = R"({"step": "delegate-ipam", "plugin": "host-local", "config": "{\"name\":\"roce\"}",
        "args": "A=b", "path": "/x", "refused": true})";
    const auto delegate = value_of<DelegateIpam>(text);
    CHECK(delegate.plugin == "host-local");
    CHECK(delegate.config == R"({"name":"roce"})");
    CHECK(delegate.args == "A=b");
    CHECK(delegate.path == "/x");
    CHECK(delegate.refused);
    CHECK(read(text).holds.is_for_others);
    CHECK(is_settled_by_one_attempt(read(text)));
    CHECK(undoes_too(read(text), read(text)));
    CHECK_FALSE(undoes_too(read(text), read(file)));
}

TEST_CASE("members that earlier versions did not write are read as absent") {
    const auto kept = value_of<KeepDevice>(R"({"step": "keep-device", "device": "0001:00:01.0", "name": "rnic0p0v0",
        "mac": "02:52:00:00:00:01", "mtu": 1500, "up": false, "promiscuous": false, "allMulticast": false,
        "ipv6AddressMode": 0, "altnames": []})");
    CHECK_FALSE(kept.before.alias);
    CHECK_FALSE(kept.before.tuning.group);
    CHECK_FALSE(kept.before.xdp_programs);
    CHECK(kept.before.files.empty());
    const char* const settings =
        R"({"step": "set-vf", "pf": "0001:00:00.0", "vf": 0, "vlanQoS": 0, "vlanProto": "802.1q", "vlan": 0})";
    CHECK(value_of<SetVf>(settings).before == kernel::VfSettings{.vlan = base::VfVlan{}});
    state::Step step = read(settings);
    CHECK(step.holds.device.empty());
    name_device(step, "0001:00:01.0");
    CHECK(step.holds.device == "0001:00:01.0");
    CHECK(parse_if<SetVf>(step).value().device == "0001:00:01.0");
    const auto rdma = value_of<MoveRdma>(R"({"step": "move-rdma", "device": "0001:00:01.0", "index": 2,
        "nodeGuid": "23082047568347137", "name": "roce0p0v0"})");
    CHECK(rdma.name_in_pod.empty());
    CHECK(rdma.stayed.empty());
    CHECK_FALSE(
        value_of<DelegateIpam>(R"({"step": "delegate-ipam", "plugin": "p", "config": "", "args": "", "path": ""})")
            .refused);
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
    const base::TemporaryDirectory directory;
    const std::string path = directory.file("info");
    const std::string step = concat(R"({"step": "write-device-info", "path": ")", path, "\"}");
    base::write_file_durably(path, R"({"type": "vdpa"})");
    CHECK_THAT(by_hand(step), Contains("nothing to do") && !Contains("`"));
    base::write_file_durably(path, R"({"type": "pci"})");
    CHECK_THAT(by_hand(step), Names(path, "remove") && !Contains("nothing to do"));
}
