#pragma once

#include <rdmanet/state/attachment_record.hpp>

namespace rdmanet::state {

/// Every one of them.
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
    record.wanted = Wanted{.mac = "02:00:00:00:00:01", .vf = {.trust = true}, .gids = true, .most_gids = 8};
    record.steps = {
        CreateLink{.kind = "macvlan",
                   .ifname = "net1",
                   .parent = "eth1",
                   .parent_ifindex = 7,
                   .parent_in_pod = true,
                   .mac = "02:00:00:00:00:01",
                   .ifindex = 3},
        KeepDevice{.device = "0000:3b:00.2",
                   .name = "ens1f0v0",
                   .mac = "02:00:00:00:00:02",
                   .mtu = 9000,
                   .up = true,
                   .promiscuous = true,
                   .all_multicast = true,
                   .ipv6_address_mode = 1,
                   .altnames = {"enp59s0f0v0"},
                   .alias = "",
                   .group = 5,
                   .transmit_queue_length = 1000,
                   .gso_max_size = 65536,
                   .gso_max_segments = 65535,
                   .gro_max_size = UINT32_MAX,
                   .gso_ipv4_max_size = 40000,
                   .gro_ipv4_max_size = 50000,
                   .files = {{"gro_flush_timeout", "0"}, {"queues/tx-0/tx_maxrate", "100"}},
                   .wanted_features = {UINT32_MAX, 0, 1},
                   .active_features = {0, 7},
                   .xdp_programs = {{97, 98}}},
        RebindDriver{.device = "0000:3b:00.2",
                     .driver = "mlx5_core",
                     .guid = "02:00:00:00:00:00:00:03",
                     .node_guid = UINT64_MAX},
        ResetFunction{.device = "0000:3b:00.2", .driver = "mlx5_core", .rdma_names = {"mlx5_3", "mlx5_4"}},
        SetVf{.pf = "0000:3b:00.0", .number = 3, .before = sample_settings(), .device = "0000:3b:00.2"},
        SetRepresentor{.pf = "0000:3b:00.0",
                       .number = 3,
                       .ifindex = 9,
                       .name = "ens1f0r3",
                       .mtu = 1500,
                       .was_down = true,
                       .had_ipv6 = true,
                       .device = "0000:3b:00.2"},
        MoveLink{.device = "0000:3b:00.2", .ifname = "net1"},
        MoveRdma{.device = "0000:3b:00.2",
                 .index = 5,
                 .node_guid = UINT64_MAX,
                 .name = "mlx5_3",
                 .name_in_pod = "rdma0",
                 .stayed = {6, UINT32_MAX}},
        WriteDeviceInfo{.path = "/run/k8s.cni.cncf.io/devinfo/cni/a"},
        DelegateIpam{
            .plugin = "host-local", .config = R"({"name":"roce"})", .args = "A=b", .path = "/x", .refused = true},
        MoveInterface{.before = {.device = "dummy0", .name = "dummy0", .mac = "02:00:00:00:00:04"},
                      .kind = "dummy",
                      .ifindex = 8,
                      .ifname = "net1",
                      .mac_in_pod = "02:00:00:00:00:05",
                      .ifindex_in_pod = 9}};
    return record;
}

} // namespace rdmanet::state
