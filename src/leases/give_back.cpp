#include "cluster_leases.hpp"
#include "clusters.hpp"
#include "recorded.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/ipam/errors.hpp>
#include <rdmanet/ipam/node_file.hpp>
#include <rdmanet/leases/leases.hpp>

#include <algorithm>

namespace rdmanet::leases {
namespace {

constexpr std::chrono::seconds kReleaseTimeout{20}; // DEL and rollback have other things to do
constexpr std::chrono::seconds kSettleTimeout{5};

/// Releases what the attachment has in the store that `store` names. If its kubeconfig does not work any more
/// (whereabouts was removed, and its token with it), another one may lead to the same cluster.
std::vector<ipam::Lease> release_where(state::LeaseStore& store, const state::AttachmentKey& key,
                                       const std::vector<ipam::Lease>& unused, const Node& node,
                                       const state::AttachmentStore& records, const base::Deadline& deadline) {
    const auto release = [&](ClusterLeases& shared) {
        std::vector<ipam::Lease> released = shared.release(owner_key(key), unused, deadline);
        try {
            shared.settle_unless_silent(node.clusters->until(deadline.at_most(kSettleTimeout)));
        } catch (const base::Error& error) { // the addresses are released, and the node remembers the rest
            node.log.info(fmt::format("blocks of addresses go back to the cluster later: {}", error.what()));
        }
        return released;
    };
    try {
        ClusterLeases shared(store, node, records);
        return release(shared);
    } catch (const base::Error&) {
        if (std::ranges::all_of(store.pools, [](const auto& pool) { return pool.uid.empty(); }))
            throw; // nothing would tell one cluster from another
        for (const std::string& kubeconfig : node.clusters->others(store.kubeconfig)) {
            state::LeaseStore other = store;
            other.kubeconfig = kubeconfig;
            try {
                ClusterLeases shared(other, node, records);
                if (!shared.is_of_record(deadline)) continue;
                std::vector<ipam::Lease> released = release(shared);
                store.kubeconfig = kubeconfig;
                return released;
            } catch (const base::Error& error) {
                node.log.info(fmt::format("{} does not help: {}", kubeconfig, error.what()));
            }
        }
        throw;
    }
}

/// For an error that stays until somebody does something.
std::string fix_of(const base::Error& error) {
    const auto* refusal = dynamic_cast<const ipam::StoreError*>(&error);
    if (refusal != nullptr && refusal->temporary()) return {};
    return fmt::format(". If that kubeconfig is gone for good, name another one of the same cluster in {}, and run "
                       "`rdmanet gc`; if the cluster is gone, run `rdmanet gc --forget` with the record's file",
                       ipam::kNodeFile);
}

/// Leases in blocks are released on the node alone. Otherwise a server is asked, for which ADD has one deadline.
base::Deadline end_of_release(const state::LeaseStore& store, const Node& node, const base::Deadline& deadline) {
    const base::Deadline own = deadline.at_most(kReleaseTimeout);
    if (store.kind == store_word(ipam::StoreKind::blocks)) return own;
    const base::Deadline end = node.clusters->until(own);
    if (!end.passed()) return end;
    throw ipam::StoreError(
        ipam::StoreError::Kind::temporary,
        fmt::format("no time of this call is left to ask the cluster of kubeconfig {}", store.kubeconfig));
}

} // namespace

std::optional<std::string> Leases::give_back(state::AttachmentRecord& remaining, const std::vector<ipam::Lease>& unused,
                                             const base::Deadline& deadline) try {
    state::LeaseStore& store = *remaining.lease_store;
    const auto released =
        release_where(store, remaining.key, unused, node_, records_, end_of_release(store, node_, deadline));
    if (!is_unsettled(remaining, node_.boot_id)) return std::nullopt;
    const auto until = store.unsettled_until;
    note_unsettled(released, store); // whose reservations may still come
    store.unsettled_until = until;
    store.is_released = true;
    remaining.leases.clear();
    return "";
} catch (const base::Error& error) {
    const std::string why = error.what() + fix_of(error);
    node_.log.error(fmt::format("the addresses of {} are still leased in the cluster, and `rdmanet gc` or a later call "
                                "gives them back: {}",
                                describe(remaining), why));
    return why;
}

void Leases::release_in_cluster(const state::AttachmentKey& key, const state::LeaseStore& where,
                                const base::Deadline& deadline) {
    (void)ClusterLeases(where, node_, records_).release(owner_key(key), {}, deadline);
}

} // namespace rdmanet::leases
