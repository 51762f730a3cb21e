// The addresses of this node's attachments, whichever of three places keeps them: a file of the node, whereabouts'
// pools, or blocks of the cluster (docs/addresses.md).
#pragma once

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/ipam/allocator.hpp>
#include <rdmanet/ipam/store/block_file.hpp>
#include <rdmanet/ipam/store/lease_file.hpp>
#include <rdmanet/leases/node.hpp>
#include <rdmanet/state/attachment_store.hpp>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace rdmanet::leases {

/// The leases that are on this node.
struct NodeLeases {
    std::vector<ipam::Lease> own;       // in the node's own file
    std::vector<ipam::Lease> in_blocks; // of the cluster
    std::vector<ipam::Block> blocks;

    [[nodiscard]] std::vector<ipam::Lease> all() const;
};

/// Calls throw ipam::StoreError for what a store refuses or can't be asked for. Where a file of the node is damaged,
/// they rebuild it from the journal, unless they say that they change nothing.
class Leases {
public:
    /// Touches nothing. Both must outlive this.
    Leases(const Node& node, const state::AttachmentStore& records);

    /// All that this process asks clusters for may take so long together, from the first request on.
    void allow(std::chrono::milliseconds time);
    /// The end of that, or `deadline` if it is earlier.
    [[nodiscard]] base::Deadline until(const base::Deadline& deadline) const;
    /// Another kubeconfig, which may lead to the cluster of a record whose own does not work any more. May be empty.
    void also_use(const std::string& kubeconfig);

    // ADD, `plan` and STATUS.

    /// The addresses of an ADD. `record` says afterwards where they are. A cluster outlives this node, so it is asked for
    /// nothing before the record says so: `save` writes it down. Never gives an address that a living attachment of this
    /// node has.
    [[nodiscard]] ipam::Allocation take(const ipam::Config& config,
                                        const std::vector<ipam::RequestedAddress>& requested,
                                        state::AttachmentRecord& record, ipam::LivenessProbe& pods,
                                        const std::function<void()>& save, const base::Deadline& deadline);
    /// Notes that the attachment has its addresses, after its record is saved with them. Of two ADDs that got one address
    /// from two stores at the same moment, the second one finds out here. Throws ipam::StoreError.
    void note_addresses(const state::AttachmentRecord& record, ipam::LivenessProbe& pods,
                        const base::Deadline& deadline) const;
    /// The configuration with its place, for which the cluster may be asked. Throws what take() would throw for it.
    [[nodiscard]] ipam::Config settle(const ipam::Config& config, ipam::LivenessProbe& pods,
                                      const base::Deadline& deadline);
    /// AddressRanges that somebody may take for a declaration of a range in pools, and why they are none.
    [[nodiscard]] std::vector<std::string> find_ignored_ranges(const ipam::StoreChoice& store,
                                                               const base::Deadline& deadline);
    /// Why an ADD would get no address; empty: it would get one, or the cluster does not answer. Runtimes ask twice a
    /// second, so a cluster's answer counts for half a minute. Changes nothing.
    [[nodiscard]] std::string find_shortage(const ipam::Config& config, ipam::LivenessProbe& pods,
                                            const base::Deadline& deadline);

    // By where they are: in the node's own file, unless a record says something else.

    /// As far as this node knows it without asking: pools, if nothing says that the ranges are in blocks.
    [[nodiscard]] std::optional<state::LeaseStore> remembered_place_of(const ipam::Config& config);
    /// Hands the store over.
    void with_store(const std::optional<state::LeaseStore>& where, const std::function<void(ipam::Store&)>& use);
    [[nodiscard]] std::vector<ipam::Lease> find(const state::AttachmentKey& key,
                                                const std::optional<state::LeaseStore>& where,
                                                const base::Deadline& deadline);
    /// Why a store can't be asked, found out without a request; empty if it may be possible.
    [[nodiscard]] std::string find_obstacle(const state::LeaseStore& where);
    /// Makes again what the record's store lacks of its `leases`, unless somebody else has them by now. What may be owed to
    /// a cluster is in the record before it is asked for. The caller has the attachment's lock.
    [[nodiscard]] std::vector<ipam::Regained>
    regain(state::AttachmentRecord& record, const std::vector<ipam::Lease>& leases, const base::Deadline& deadline);
    static constexpr std::chrono::seconds kRegainTimeout{30}; // of one attachment

    // DEL, GC and the rollback of ADD.

    /// Releases what the attachment has in the files of this node.
    void release_on_node(const state::AttachmentKey& key, const base::Deadline& deadline);
    /// The same after an ADD that failed. The leases that it took (`fresh`) get no cooldown: no program has used them.
    void withdraw_on_node(const state::AttachmentKey& key, const std::vector<ipam::Lease>& fresh,
                          const base::Deadline& deadline);
    /// Gives back what the record has in a cluster. The leases in `unused` do not rest. nullopt, or why something is owed:
    /// the cluster can't be asked, it refuses, or (empty) it may yet carry out a request. `remaining` then says what.
    [[nodiscard]] std::optional<std::string> give_back(state::AttachmentRecord& remaining,
                                                       const std::vector<ipam::Lease>& unused,
                                                       const base::Deadline& deadline);
    /// The same for who drops the record in any case.
    void release_in_cluster(const state::AttachmentKey& key, const state::LeaseStore& where,
                            const base::Deadline& deadline);
    /// Releases a lease of this node's files if it has not changed.
    [[nodiscard]] bool reclaim(const ipam::Lease& lease, const base::Deadline& deadline);

    // The node as a whole.

    /// For a call that then changes something. Removes what a killed writer of the files has left.
    [[nodiscard]] std::vector<ipam::Lease> list(const base::Deadline& deadline);
    /// Changes nothing. Throws ipam::DamagedStore.
    [[nodiscard]] NodeLeases look(const base::Deadline& deadline);
    /// Asks each cluster what it says of this node's blocks, and gives back those that the node has no use for. Returns
    /// one sentence for each cluster whose blocks are not confirmed, or not all given back: the next call tries again.
    [[nodiscard]] std::vector<std::string> confirm_blocks(const base::Deadline& deadline);
    /// The same for the cluster that `kubeconfig` leads to, where this node knows no range with blocks: those of an earlier
    /// boot go back, also if a backup has brought them again.
    void give_back_earlier_blocks(const std::string& kubeconfig, const std::string& node_name,
                                  const base::Deadline& deadline);
    /// At the first call of a boot: gives back what this machine's pods had in pools before it.
    void give_back_earlier_pools(const state::LeaseStore& where);
    void give_back_earlier_pools(const std::string& kubeconfig, const std::string& node_name);

private:
    [[nodiscard]] ipam::Allocation take_settled(const ipam::Config& config,
                                                const std::vector<ipam::RequestedAddress>& requested,
                                                state::AttachmentRecord& record, ipam::LivenessProbe& pods,
                                                const std::function<void()>& save, const base::Deadline& deadline);

    const Node& node_;
    const state::AttachmentStore& records_;
    ipam::LeaseFile file_;
};

} // namespace rdmanet::leases
