// What the operations of the store work with.
#pragma once

#include "leases.hpp"
#include "node.hpp"
#include "session.hpp"
#include "values.hpp"

#include <rdmanet/cluster/etcd_store.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

namespace rdmanet::cluster {

[[nodiscard]] inline std::int64_t seconds_now() {
    return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
        .count();
}

struct EtcdParts {
    EtcdParts(etcd::Client client, EtcdOptions its_options)
        : options(std::move(its_options)), session(std::move(client), options.prefix), leases(session),
          node(session, leases, options) {}
    EtcdParts(const EtcdParts&) = delete;
    EtcdParts& operator=(const EtcdParts&) = delete;
    ~EtcdParts() = default;

    [[nodiscard]] const EtcdKeys& keys() const { return session.keys(); }

    [[nodiscard]] StoredLease own(const std::string& space, unsigned slot, const base::IpPrefix& address,
                                  const ipam::Owner& owner) const {
        return {.lease = {.space = space, .slot = slot, .address = address, .owner = owner},
                .machine_id = options.machine_id,
                .node_name = options.node_name};
    }
    [[nodiscard]] ipam::Lease to_lease(const StoredLease& stored) const {
        ipam::Lease lease = stored.lease;
        if (!node.has(stored)) lease.owner.other_node = stored.node_name.empty() ? "unknown" : stored.node_name;
        return lease;
    }
    void note_claim(const ipam::Lease& lease) const {
        if (options.before_claim) options.before_claim(lease);
    }

    const EtcdOptions options;
    EtcdSession session;
    EtcdLeases leases;
    EtcdNode node;
};

/// The lease of an address's key. A key that has no lease of ours still takes its address.
[[nodiscard]] inline ipam::Lease lease_at(const EtcdParts& parts, const base::IpAddress& address,
                                          const std::string& space, const etcd::KeyValue& entry) {
    if (const auto stored = parse_stored_lease(entry.value)) return parts.to_lease(*stored);
    ipam::Lease lease{.space = space,
                      .address = base::IpPrefix::make(address, base::address_bits(address.family())).value()};
    lease.owner.other_node = "unknown";
    return lease;
}

} // namespace rdmanet::cluster
