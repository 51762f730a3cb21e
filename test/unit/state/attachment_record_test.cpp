#include "sample_record.hpp"

#include "support/names.hpp"

#include <catch2/catch.hpp>

using namespace rdmanet;
using rdmanet::test::Names;
using state::AttachmentRecord;

TEST_CASE("a record that was written is read back whole") {
    const AttachmentRecord record = state::sample_record();
    const AttachmentRecord read = AttachmentRecord::parse(record.to_text());
    CHECK(read.to_text() == record.to_text());
    CHECK(read.key == record.key);
    CHECK(read.netns.inode == UINT64_MAX);
    CHECK(read.created_since_boot == 500);
    REQUIRE(read.vf_settings);
    CHECK(read.vf_settings == record.vf_settings);
    REQUIRE(read.wanted);
    CHECK(read.wanted->mac == "02:00:00:00:00:01");
    CHECK(read.wanted->vf.trust == true);
    CHECK(read.wanted->gids);
    CHECK_FALSE(read.wanted->active_port);
    CHECK(read.wanted->most_gids == 8);
    CHECK(std::get<state::CreateLink>(read.steps.at(0)).parent_in_pod);
    CHECK(std::get<state::KeepDevice>(read.steps.at(1)).altnames == std::vector<std::string>{"enp59s0f0v0"});
    CHECK(std::get<state::SetVf>(read.steps.at(4)).before == state::sample_settings());
    CHECK(std::get<state::RebindDriver>(read.steps.at(2)).driver == "mlx5_core");
    CHECK(std::get<state::ResetFunction>(read.steps.at(3)).rdma_names == std::vector<std::string>{"mlx5_3", "mlx5_4"});
    CHECK(std::get<state::SetVf>(read.steps.at(4)).device == "0000:3b:00.2");
    CHECK(std::get<state::SetRepresentor>(read.steps.at(5)).mtu == 1500U);
    CHECK(std::get<state::SetRepresentor>(read.steps.at(5)).device == "0000:3b:00.2");
    CHECK(std::get<state::MoveLink>(read.steps.at(6)).ifname == "net1");
    CHECK(std::get<state::MoveRdma>(read.steps.at(7)).node_guid == UINT64_MAX);
    CHECK(std::get<state::MoveInterface>(read.steps.at(10)).before.mac == "02:00:00:00:00:04");
    CHECK(std::get<state::MoveInterface>(read.steps.at(10)).ifindex_in_pod == 9);
    CHECK(std::get<state::WriteDeviceInfo>(read.steps.at(8)).path == "/run/k8s.cni.cncf.io/devinfo/cni/a");
    CHECK(std::get<state::DelegateIpam>(read.steps.at(9)).config == R"({"name":"roce"})");
    CHECK(std::get<state::DelegateIpam>(read.steps.at(9)).refused);
}

TEST_CASE("settings of a VF that were not changed are not written down") {
    AttachmentRecord record = state::sample_record();
    record.steps = {state::SetVf{.pf = "0000:3b:00.0", .number = 1, .before = {.trust = true}}};
    const auto read = std::get<state::SetVf>(AttachmentRecord::parse(record.to_text()).steps.at(0)).before;
    CHECK(read.trust == true);
    CHECK_FALSE(read.mac);
    CHECK_FALSE(read.vlan);
    CHECK_FALSE(read.rates);
    CHECK_FALSE(read.spoof_check);
    CHECK_FALSE(read.link_state);
}

TEST_CASE("what was written of a VF before there were settings to compare, and names in the pod, is read as ever") {
    const AttachmentRecord record = AttachmentRecord::parse(R"({"version": 1, "network": "net", "containerID": "c1",
        "ifname": "net1", "role": "", "phase": "attached", "attach": "sriov",
        "bootID": "c5a9c151-6e37-456d-8f1e-86d0949e8c80", "pidNamespace": "4026531836", "created": 1795365561,
        "netns": {"path": "/run/netns/pod", "device": "4", "inode": "4026532166", "cookie": "2"},
        "pod": {"namespace": "", "name": "", "uid": ""}, "rdmaDevice": "roce0p0v0",
        "leases": [{"space": "", "slot": 0, "address": "10.0.0.1/24", "cooldown": 30}], "ips": ["10.0.0.1/24"],
        "routes": [], "steps": [
        {"step": "keep-device", "device": "0001:00:01.0", "name": "rnic0p0v0", "mac": "02:52:00:00:00:01", "mtu": 1500,
         "up": false, "promiscuous": false, "allMulticast": false, "ipv6AddressMode": 0, "altnames": []},
        {"step": "set-vf", "pf": "0001:00:00.0", "vf": 0, "vlanQoS": 0, "vlanProto": "802.1q", "vlan": 0},
        {"step": "move-link", "device": "0001:00:01.0", "ifname": "net1"},
        {"step": "move-rdma", "device": "0001:00:01.0", "index": 2, "nodeGuid": "23082047568347137",
         "name": "roce0p0v0"}]})");
    CHECK_FALSE(record.vf_settings);
    CHECK_FALSE(record.created_since_boot);
    CHECK_FALSE(record.wanted);
    const auto& vf = std::get<state::SetVf>(record.steps.at(1));
    CHECK(vf.before == state::VfSettings{.vlan = base::VfVlan{}});
    const auto& rdma = std::get<state::MoveRdma>(record.steps.at(3));
    CHECK(rdma.name == "roce0p0v0");
    CHECK(rdma.name_in_pod.empty());
    CHECK(rdma.stayed.empty());
}

TEST_CASE("the reset of a VF is read as it is written down") {
    const char* const text = R"({"version": 1, "network": "net", "containerID": "c1", "ifname": "net1", "role": "",
        "phase": "prepared", "attach": "sriov", "bootID": "c5a9c151-6e37-456d-8f1e-86d0949e8c80",
        "pidNamespace": "4026531836", "created": 1795365561,
        "netns": {"path": "/run/netns/pod", "device": "4", "inode": "4026532166", "cookie": "2"},
        "pod": {"namespace": "", "name": "", "uid": ""}, "rdmaDevice": "", "leases": [], "ips": [], "routes": [],
        "steps": [{"step": "reset-function", "device": "0001:00:01.0", "driver": "simrnic", "rdmaNames": ["roce0p0v0"]},
        {"step": "reset-function", "device": "0001:00:01.1", "driver": "uio_pci_generic", "rdmaNames": []}]})";
    const AttachmentRecord record = AttachmentRecord::parse(text);
    const auto& reset = std::get<state::ResetFunction>(record.steps.at(0));
    CHECK(reset.device == "0001:00:01.0");
    CHECK(reset.driver == "simrnic");
    CHECK(reset.rdma_names == std::vector<std::string>{"roce0p0v0"});
    CHECK(std::get<state::ResetFunction>(record.steps.at(1)).rdma_names.empty());
}

TEST_CASE("a record cut at any byte is refused") {
    const std::string text = state::sample_record().to_text();
    for (std::size_t length = 0; length < text.size(); ++length)
        CHECK_THROWS_AS(AttachmentRecord::parse(text.substr(0, length)), base::Error);
}

TEST_CASE("a number that is written otherwise than a record writes it is refused") {
    const std::string text = state::sample_record().to_text();
    const std::string number = "\"" + std::to_string(UINT64_MAX) + "\"";
    for (std::size_t at = text.find(number); at != std::string::npos; at = text.find(number, at + 1)) {
        std::string other = text;
        other.insert(at + 1, "0");
        CHECK_THROWS_WITH(AttachmentRecord::parse(other), Names("decimal number", "\"0..."));
    }
}

TEST_CASE("records of several boots have one order, also where a clock was set back between and during them") {
    const auto record_of = [](const char* name, const char* boot, std::int64_t created,
                              std::optional<std::int64_t> since) {
        AttachmentRecord record = state::sample_record();
        record.key.container_id = name;
        record.boot_id = boot;
        record.created = created;
        record.created_since_boot = since;
        return record;
    };
    // In pairs, by the clock that two have in common, each of the first three is younger than the next: y, x, z, y.
    const std::vector<AttachmentRecord> expected = {
        record_of("now", "present", 5, 9),        record_of("y", "one", 100, 20), record_of("z", "one", 300, 10),
        record_of("old version", "one", 400, {}), record_of("x", "two", 200, 5),
    };
    const auto names_of = [](const std::vector<AttachmentRecord>& records) {
        std::vector<std::string> names;
        for (const AttachmentRecord& record : records) names.push_back(record.key.container_id);
        return names;
    };
    std::vector<std::size_t> order = {0, 1, 2, 3, 4};
    do {
        std::vector<AttachmentRecord> records;
        for (const std::size_t at : order) records.push_back(expected[at]);
        sort_youngest_first(records, "present");
        REQUIRE(names_of(records) == names_of(expected));
    } while (std::next_permutation(order.begin(), order.end()));
}

TEST_CASE("a record of another version is refused by name") {
    std::string text = state::sample_record().to_text();
    text.replace(text.find("\"version\": 1"), 12, "\"version\": 2");
    CHECK_THROWS_WITH(AttachmentRecord::parse(text), Names("version", "1 to 1", "2"));
}

TEST_CASE("a step that this version doesn't know is refused, never skipped") {
    std::string text = state::sample_record().to_text();
    text.replace(text.find("create-link"), 11, "move-device");
    CHECK_THROWS_WITH(AttachmentRecord::parse(text), Names("steps[0].step", "move-device"));
}
