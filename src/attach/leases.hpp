// Translates between the journal's records and the lease store.
#pragma once

#include <rdmanet/attach/node.hpp>
#include <rdmanet/base/deadline.hpp>
#include <rdmanet/ipam/config.hpp>
#include <rdmanet/ipam/errors.hpp>
#include <rdmanet/ipam/lease.hpp>
#include <rdmanet/state/attachment_store.hpp>

#include <optional>
#include <string>
#include <vector>

namespace rdmanet::attach {

/// As state::LeaseStore::kind says it; empty: the node's own store has no such record.
[[nodiscard]] std::string store_word(ipam::StoreKind kind);

[[nodiscard]] ipam::OwnerKey owner_key(const state::AttachmentKey& key);
[[nodiscard]] ipam::Owner owner_of(const state::AttachmentRecord& record);
[[nodiscard]] std::vector<state::RecordedLease> to_recorded(const std::vector<ipam::Lease>& leases);

/// What the record says that the attachment has, wherever it is.
[[nodiscard]] std::vector<ipam::Lease> recorded_leases_of(const state::AttachmentRecord& record);

/// The damaged file was moved to `moved`, or is gone.
void log_repair(const Node& node, const ipam::DamagedStore& damage, const std::optional<std::string>& moved);

/// Runs `act`. If the file of the leases is damaged, repairs it and runs `act` again.
template <class File, class Act>
auto repairing(File& leases, const Node& node, const base::Deadline& deadline, Act act) {
    try {
        return act();
    } catch (const ipam::DamagedStore& damage) {
        log_repair(node, damage, leases.repair(deadline));
        return act();
    }
}

/// Whether the attachment's record in another role has its leases. They are released with that record.
[[nodiscard]] bool has_leases_in_other_role(const state::AttachmentKey& key, const state::AttachmentStore& records);

} // namespace rdmanet::attach
