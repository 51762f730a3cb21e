// Leases in pools or blocks of a cluster, as one attachment uses them.
#pragma once

#include "clusters.hpp"

#include <rdmanet/base/boot_memory.hpp>
#include <rdmanet/base/deadline.hpp>
#include <rdmanet/cluster/blocks_store.hpp>
#include <rdmanet/cluster/pools_store.hpp>
#include <rdmanet/ipam/store.hpp>
#include <rdmanet/ipam/store/block_file.hpp>
#include <rdmanet/kube/api.hpp>
#include <rdmanet/leases/node.hpp>
#include <rdmanet/state/attachment_store.hpp>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace rdmanet::leases {

/// What only an ADD has for the cluster's store.
struct Adding {
    std::function<void(const ipam::Lease&)> before_claim{};
    std::function<void(const ipam::Lease&)> before_inheritance{};
};

class ClusterLeases {
public:
    /// Reads the files that say how to reach it, and asks nobody anything. Throws ipam::StoreError.
    ClusterLeases(const state::LeaseStore& where, const Node& node, const state::AttachmentStore& records,
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
        return node_.clusters->ask(where_.kubeconfig, [&] { return use(*store_); });
    }

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

} // namespace rdmanet::leases
