// What a record says of leases in a cluster, so that they are given back whatever the configuration says by then.
#pragma once

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/http/client.hpp>
#include <rdmanet/ipam/errors.hpp>
#include <rdmanet/ipam/store/block_file.hpp>
#include <rdmanet/leases/node.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rdmanet::leases {

/// As state::LeaseStore::kind says it; empty: the node's own file needs no such record.
[[nodiscard]] std::string store_word(ipam::StoreKind kind);

/// What a record would say of a cluster that no record and no network leads to, with the limits of the node's file.
[[nodiscard]] state::LeaseStore place_without_record(ipam::StoreKind kind, const std::string& kubeconfig,
                                                     const std::string& node_name);

/// The record's words for leases.
[[nodiscard]] std::vector<state::RecordedLease> to_recorded(const std::vector<ipam::Lease>& leases);

/// How long one request may take.
[[nodiscard]] http::Limits limits_of(const state::LeaseStore& store);
[[nodiscard]] http::Limits limits_of(const ipam::StoreLimits& limits);

/// Throws CniError if an earlier ADD of the attachment has, or may yet get, addresses in another store than `now`
/// (nullopt: the node's file).
void require_same_store(const state::LeaseStore& earlier, const std::optional<state::LeaseStore>& now);

/// `into`, the same store, also looks where an earlier ADD of the attachment may have left something.
void carry_over(const state::LeaseStore& earlier, state::LeaseStore& into);

/// Notes that these claims may be carried out within the next minute.
void note_unsettled(const std::vector<ipam::Lease>& claims, state::LeaseStore& store);

/// Notes that the attachment may have a reservation of this address, whatever the pool's record says.
void note_inheritance(const ipam::Lease& lease, state::LeaseStore& store);
void note_claimed(const state::ClaimedAddress& claimed, state::LeaseStore& store);

/// How long an API server may work on a request whose client is gone: its --request-timeout, by default.
inline constexpr std::chrono::seconds kLateAnswer{60};

// The two files in which this node keeps leases are both rebuilt from the journal if they are damaged.

/// All leases in the journal, those of younger attachments first. They replace a lost file. `store` is the kind of the
/// store that they are in; empty: the node's own file.
[[nodiscard]] std::vector<ipam::Lease> list_recorded_leases(const state::AttachmentStore& records,
                                                            const std::string& boot_id, std::string_view store = {});

/// The file of the leases in blocks. A new one starts with those in the journal's records of this boot.
[[nodiscard]] ipam::BlockFile open_block_file(const Node& node, const state::AttachmentStore& records);

/// False without a file: then this node has had no block in this boot.
[[nodiscard]] bool has_block_file(const Node& node);

/// The damaged file was moved to `moved`, or is gone.
void log_repair(const Node& node, const ipam::DamagedStore& damage, const std::optional<std::string>& moved);

/// Runs `act`. If the file is damaged, repairs it and runs `act` again.
template <class File, class Act>
auto repairing(File& file, const Node& node, const base::Deadline& deadline, Act act) {
    try {
        return act();
    } catch (const ipam::DamagedStore& damage) {
        log_repair(node, damage, file.repair(deadline));
        return act();
    }
}

} // namespace rdmanet::leases
