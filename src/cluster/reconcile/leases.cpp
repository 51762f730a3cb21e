#include "held.hpp"

#include "../etcd/leases.hpp"

#include <rdmanet/base/format.hpp>

#include <utility>

namespace rdmanet::cluster {
namespace {

Held held_of(StoredLease stored, Holder holder, const std::string& key) {
    const ipam::Owner& owner = stored.lease.owner;
    holder.pod_uid = owner.pod_uid;
    holder.boot_id = owner.boot_id;
    holder.machine_id = stored.machine_id;
    Left left{.kind = "key of etcd",
              .object = key,
              .address = stored.lease.address.address().to_string(),
              .pod = holder.podref(),
              .ifname = owner.key.ifname,
              .node = stored.node_name};
    std::string identity = fmt::format("{} {}", key, stored.revision);
    return {.left = std::move(left),
            .holder = std::move(holder),
            .identity = std::move(identity),
            .what = std::move(stored)};
}

} // namespace

Inventory read_leases(const Servers& servers, const base::Deadline& deadline) {
    Inventory inventory;
    if (servers.etcd == nullptr) return inventory;
    EtcdLeases(*servers.etcd).for_each_page(deadline, [&](EtcdLeases::Page page) {
        inventory.unreadable += page.unreadable;
        for (StoredLease& stored : page.leases) {
            const ipam::Owner& owner = stored.lease.owner;
            auto holder = holder_of(fmt::format("{}/{}", owner.pod_namespace, owner.pod_name));
            const std::string key = servers.etcd->keys().address(stored.lease.space, stored.lease.address.address());
            if (holder)
                inventory.held.push_back(held_of(std::move(stored), *std::move(holder), key));
            else
                ++inventory.foreign;
        }
    });
    return inventory;
}

} // namespace rdmanet::cluster
