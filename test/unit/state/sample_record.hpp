#pragma once

#include <rdmanet/state/attachment_record.hpp>

namespace rdmanet::state {

/// A record in which every field differs from its default.
inline AttachmentRecord sample_record() {
    AttachmentRecord record;
    record.key = {.network = "roce", .container_id = "c0ffee", .ifname = "net1"};
    record.phase = Phase::attached;
    record.attach = "macvlan";
    record.boot_id = "5f0c2f6e-8f1d-4f0e-9a53-000000000001";
    record.pid_namespace_inode = 4026531836;
    record.created = 1'700'000'000;
    record.netns = {.path = "/run/netns/p", .device = 4, .inode = UINT64_MAX, .cookie = 4711};
    record.pod = {.pod_namespace = "default", .name = "worker-0", .uid = "u-1"};
    record.rdma_device = "mlx5_0/1";
    record.leases = {{.space = "blue", .slot = 1, .address = "10.1.2.3/24", .cooldown = 30}};
    record.ips = {"10.1.2.3/24", "fd00::3/64"};
    record.routes = {"10.9.0.0/16"};
    record.steps = {CreateLink{.kind = "macvlan",
                               .ifname = "net1",
                               .parent = "eth1",
                               .parent_ifindex = 7,
                               .parent_in_pod = true,
                               .mac = "02:00:00:00:00:01",
                               .ifindex = 3},
                    DelegateIpam{.plugin = "host-local", .config = R"({"name":"roce"})", .args = "A=b", .path = "/x"}};
    return record;
}

} // namespace rdmanet::state
