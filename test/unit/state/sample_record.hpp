#pragma once

#include <rdmanet/state/attachment_record.hpp>

namespace rdmanet::state {

/// All settings that exist.
inline base::VfSettings sample_settings() {
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
    record.vf_settings =
        base::VfSettings{.vlan = base::VfVlan{}, .trust = true, .link_state = base::VfLinkState::disable};
    record.wanted = Wanted{.mac = "02:00:00:00:00:01", .vf = sample_settings(), .gids = true, .most_gids = 8};
    const LinkBefore before{.device = "0000:3b:00.2",
                            .name = "ens1f0v0",
                            .up = true,
                            .altnames = {"enp59s0f0v0"},
                            .settings = {{"mac", "02:00:00:00:00:02"}, {"mtu", "9000"}},
                            .files = {{"gro_flush_timeout", "0"}, {"queues/tx-0/tx_maxrate", "100"}},
                            .wanted_features = {UINT32_MAX, 0, 1},
                            .active_features = {0, 7},
                            .xdp_programs = {97, 98}};
    record.steps = {
        CreateLink{.child = {.kind = "macvlan",
                             .mode = "macvlan mode bridge",
                             .parent = "eth1",
                             .parent_ifindex = 7,
                             .parent_in_pod = false,
                             .mac = "02:00:00:00:00:01"},
                   .ifname = "net1",
                   .ifindex = 3},
        DeviceBaseline{.link = before},
        RebindDriver{.device = "0000:3b:00.2",
                     .driver = "mlx5_core",
                     .guid = "02:00:00:00:00:00:00:03",
                     .node_guid = UINT64_MAX},
        ResetFunction{.device = "0000:3b:00.2", .driver = "mlx5_core", .rdma_names = {"roce0", "roce1"}},
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
        MoveInterface{.before = before,
                      .kind = "dummy",
                      .ifindex = 8,
                      .ifname = "net1",
                      .mac_in_pod = "02:00:00:00:00:05",
                      .ifindex_in_pod = 9},
        MoveRdma{.device = "0000:3b:00.2",
                 .index = 5,
                 .node_guid = UINT64_MAX,
                 .name = "mlx5_3",
                 .name_in_pod = "rdma0",
                 .stayed = {6, UINT32_MAX}},
        DelegateIpam{
            .plugin = "host-local", .config = R"({"name":"roce"})", .args = "A=b", .path = "/x", .refused = true},
        WriteDeviceInfo{.path = "/run/k8s.cni.cncf.io/devinfo/cni/pod_net1"}};
    return record;
}

} // namespace rdmanet::state
