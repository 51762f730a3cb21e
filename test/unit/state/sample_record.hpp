#pragma once

#include <rdmanet/json/writer.hpp>
#include <rdmanet/state/attachment_record.hpp>
#include <rdmanet/state/members.hpp>

#include <string>
#include <utility>

namespace rdmanet::state {

/// All settings that exist.
inline VfSettings sample_settings() {
    return {.mac = base::MacAddress::parse("00:00:00:00:00:00"),
            .vlan = base::VfVlan{.id = 4094, .qos = 7, .protocol = base::VlanProtocol::dot1ad},
            .rates = base::VfRates{.least_mbps = 1, .most_mbps = UINT32_MAX},
            .spoof_check = true,
            .trust = false,
            .link_state = base::VfLinkState::automatic,
            .node_guid = base::Guid::parse("02:00:00:00:00:00:00:01"),
            .port_guid = base::Guid::parse("02:00:00:00:00:00:00:02")};
}

/// A step of a kind that only these tests have. Its members are what it holds.
inline Step sample_step(Holds holds) {
    json::Writer writer;
    writer.begin_object().member("step", "sample").member("device", holds.device);
    if (holds.child)
        writer.member("kind", holds.child->kind)
            .member("mode", holds.child->mode)
            .member("parent", holds.child->parent)
            .member("parentIfindex", holds.child->parent_ifindex)
            .member("parentInPod", holds.child->parent_in_pod);
    if (holds.rdma)
        writer.member("index", holds.rdma->index)
            .member("nodeGuid", std::to_string(holds.rdma->node_guid))
            .member("name", holds.rdma->name);
    writer.member("file", holds.device_info).member("others", holds.is_for_others).end_object();
    return {.kind = "sample", .json = writer.to_text(), .holds = std::move(holds)};
}

inline Step read_sample_step(const json::Reader& reader) {
    if (const json::Reader kind = reader.at("step"); kind.string() != "sample") throw kind.unexpected("a known step");
    Holds holds{.device = reader.at("device").string()};
    if (reader.find("kind"))
        holds.child = Child{.kind = reader.at("kind").string(),
                            .mode = reader.at("mode").string(),
                            .parent = reader.at("parent").string(),
                            .parent_ifindex = parse_ifindex(reader.at("parentIfindex")),
                            .parent_in_pod = reader.at("parentInPod").boolean()};
    if (reader.find("index"))
        holds.rdma = HeldRdma{.index = static_cast<std::uint32_t>(reader.at("index").integer(0, UINT32_MAX)),
                              .node_guid = parse_number_text(reader.at("nodeGuid")),
                              .name = reader.at("name").string()};
    holds.device_info = reader.at("file").string();
    holds.is_for_others = reader.at("others").boolean();
    return sample_step(std::move(holds));
}

/// A record in which every field differs from its default.
inline AttachmentRecord sample_record() {
    AttachmentRecord record;
    record.key = {.network = "roce", .container_id = "c0ffee", .ifname = "net1"};
    record.phase = Phase::attached;
    record.attach = "macvlan";
    record.boot_id = "5f0c2f6e-8f1d-4f0e-9a53-000000000001";
    record.pid_view = 4026531836;
    record.created = 1'700'000'000;
    record.created_since_boot = 500;
    record.netns = {.path = "/run/netns/p", .device = 4, .inode = UINT64_MAX, .cookie = 4711};
    record.pod = {.pod_namespace = "default", .name = "worker-0", .uid = "u-1"};
    record.rdma_device = "mlx5_0/1";
    record.leases = {{.space = "blue", .slot = 1, .address = "10.1.2.3/24", .cooldown = 30}};
    record.ips = {"10.1.2.3/24", "fd00::3/64"};
    record.routes = {"10.9.0.0/16"};
    record.vf_settings = VfSettings{.vlan = base::VfVlan{}, .trust = true, .link_state = base::VfLinkState::disable};
    record.wanted = Wanted{.mac = "02:00:00:00:00:01", .vf = sample_settings(), .gids = true, .most_gids = 8};
    record.steps = {
        sample_step(
            {.child = Child{.kind = "macvlan", .mode = "macvlan mode bridge", .parent = "eth1", .parent_ifindex = 7}}),
        sample_step(
            {.device = "0000:3b:00.2", .rdma = HeldRdma{.index = 5, .node_guid = UINT64_MAX, .name = "mlx5_3"}}),
        sample_step({.device_info = "pod_net1", .is_for_others = true})};
    return record;
}

} // namespace rdmanet::state
