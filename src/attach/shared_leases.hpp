// Leases in a store that the cluster shares. The record says where they are, so that they are given back whatever the
// configuration says by then.
#pragma once

#include <rdmanet/attach/node.hpp>
#include <rdmanet/base/boot_memory.hpp>
#include <rdmanet/base/deadline.hpp>
#include <rdmanet/cluster/blocks_store.hpp>
#include <rdmanet/cluster/pools_store.hpp>
#include <rdmanet/cni/request.hpp>
#include <rdmanet/ipam/config.hpp>
#include <rdmanet/ipam/store.hpp>
#include <rdmanet/ipam/store/block_file.hpp>
#include <rdmanet/kube/api.hpp>
#include <rdmanet/state/attachment_store.hpp>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace rdmanet::attach {

/// For the record of an attachment of this network, whose store is settled. nullopt: its leases are in the node's own.
[[nodiscard]] std::optional<state::LeaseStore> lease_store_of(const ipam::Config& config);

/// The same for a DEL that finds no record, as far as this node knows it without asking. A configuration that is wrong
/// by now says nothing.
[[nodiscard]] std::optional<state::LeaseStore> lease_store_of(const cni::Request& request, const Node& node,
                                                              const state::AttachmentStore& records);

/// How long one request of that store may take.
[[nodiscard]] http::Limits limits_of(const state::LeaseStore& store);

/// Throws CniError if an earlier ADD of the attachment has, or may yet get, addresses in another store than `now`
/// (nullopt: the node's own).
void require_same_store(const state::LeaseStore& earlier, const std::optional<state::LeaseStore>& now);

/// `into` also looks in those of `pools` that it does not have.
void add_pools(const std::vector<state::LeasePool>& pools, state::LeaseStore& into);

/// `into`, the same store, also looks where an earlier ADD of the attachment may have left something.
void carry_over(const state::LeaseStore& earlier, state::LeaseStore& into);

/// Whether static addresses are in no store (ipam::claims_static_addresses()).
[[nodiscard]] bool leaves_out_static_addresses(const state::LeaseStore& store);

/// Whether the server may carry out a claim after its sender has looked what became of it. Leases in blocks are claimed
/// on this node alone.
[[nodiscard]] bool takes_late_claims(const state::LeaseStore& store);

/// Notes that these claims may be carried out within the next minute.
void note_unsettled(const std::vector<ipam::Lease>& claims, state::LeaseStore& store);

/// Notes that the attachment may have a reservation of this address, whatever the pool's record says.
void note_inheritance(const ipam::Lease& lease, state::LeaseStore& store);
void note_claimed(const state::ClaimedAddress& claimed, state::LeaseStore& store);

/// Whether the server may still carry out a request that is not known to be done.
[[nodiscard]] bool is_unsettled(const state::AttachmentRecord& record, const std::string& boot_id);

/// How long an API server may work on a request whose client is gone: its --request-timeout, by default.
inline constexpr std::chrono::seconds kLateAnswer{60};

/// What only an ADD has for the cluster's store.
struct Adding {
    std::function<void(const ipam::Lease&)> before_claim{};
    std::function<void(const ipam::Lease&)> before_inheritance{};
};

/// The cluster's store, as one attachment uses it.
class SharedLeases {
public:
    /// Reads the files that say how to reach it, and asks nobody anything. Throws ipam::StoreError.
    SharedLeases(const state::LeaseStore& where, const Node& node, const state::AttachmentStore& records,
                 Adding adding = {});

    /// At the first call of a boot: gives back what this machine's pods had before it. The state directory remembers that.
    void give_back_earlier_boot();
    /// Where it is, with what is known of it by now.
    [[nodiscard]] state::LeaseStore where() const;
    /// Whether it has a pool that is the very object of the record. Another cluster has pools of the same names.
    [[nodiscard]] bool is_of_record(const base::Deadline& deadline);
    /// Claims that got no answer.
    [[nodiscard]] std::vector<ipam::Lease> unsettled() const;

    /// What `use` makes of the store. A server that does not answer it is not asked again by this process.
    template <class Use>
    auto ask(Use use) {
        try {
            return use(*store_);
        } catch (const ipam::StoreError& error) {
            if (error.unreachable()) give_up(error);
            throw;
        }
    }

    [[nodiscard]] std::vector<ipam::Lease> find(const ipam::OwnerKey& key, const base::Deadline& deadline);

    /// What the store lacks of these leases is made again. A damaged file of blocks is rebuilt.
    [[nodiscard]] std::vector<ipam::Regained> regain(const std::vector<ipam::Lease>& leases,
                                                     const base::Deadline& deadline);

    /// As BlocksStore::confirm(). Throws ipam::StoreError.
    void confirm_blocks(const base::Deadline& deadline);
    /// Blocks that this node has no use for go back to the cluster, unless the server did not answer within the last
    /// minute. Throws ipam::StoreError.
    void settle_unless_silent(const base::Deadline& deadline);

    /// Releases what the attachment holds. The leases in `unused` do not rest. A damaged file of blocks is rebuilt.
    std::vector<ipam::Lease> release(const ipam::OwnerKey& key, const std::vector<ipam::Lease>& unused,
                                     const base::Deadline& deadline);

private:
    void open_pools(Adding adding);
    void open_blocks();
    [[nodiscard]] kube::Api& api();
    /// Since when the server does not answer.
    [[nodiscard]] base::BootMemory silence() const;
    void give_up(const ipam::StoreError& why);
    [[nodiscard]] std::optional<ipam::Owner> known_owner(const std::string& container_id, const std::string& ifname);

    state::LeaseStore where_;
    const Node& node_;
    const state::AttachmentStore& records_;
    std::optional<std::map<std::pair<std::string, std::string>, ipam::Owner>> known_owners_; // once they are asked for
    cluster::WhereaboutsStore* pools_ = nullptr;                                             // store_, if it is one
    bool is_adding_ = false;
    std::shared_ptr<ipam::BlockFile> block_file_;
    std::unique_ptr<ipam::Store> store_;
    cluster::BlocksStore* blocks_ = nullptr; // store_, if it is one
};

} // namespace rdmanet::attach
