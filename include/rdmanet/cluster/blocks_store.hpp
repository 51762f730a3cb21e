// Leases in blocks: each node has blocks of an AddressRange, as objects in the Kubernetes API, and hands out their
// addresses from a file of its own. An ADD asks the cluster only when the node has no address left, or when nobody has
// confirmed its blocks for two minutes.
//
// The name of a block's object is its address space, first address and length, so that creating it is the lock.
#pragma once

#include <rdmanet/base/ip_address.hpp>
#include <rdmanet/cluster/ranges.hpp>
#include <rdmanet/ipam/errors.hpp>
#include <rdmanet/ipam/store.hpp>
#include <rdmanet/ipam/store/block_file.hpp>
#include <rdmanet/kube/api.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rdmanet::cluster {

/// How long an empty block stays with its node, if the node has another empty one.
inline constexpr std::chrono::minutes kIdleBlock{10};

class BlocksStore final : public ipam::Store {
public:
    /// Looks at this node: why one of these addresses may be in use on it by who is not in `known`; empty: none is.
    using FindUse =
        std::function<std::string(const base::IpPrefix& addresses, const std::vector<base::IpAddress>& known)>;

    struct Options {
        /// Connects at the first call. Throws ipam::StoreError.
        std::function<kube::Api&()> api;
        /// What calls without a configuration need to connect again.
        std::string kubeconfig;
        /// The name of this node's Node object, and who this node is.
        std::string node_name;
        std::string machine_id;
        std::string boot_id;
        FindUse find_use;
        /// Why somebody on this node may have addresses that find_use does not see; empty: it sees all.
        std::function<std::string()> find_doubt;
        /// The AddressRanges, if find_keeper() has just asked for them.
        std::optional<DeclaredRanges> recalled{};
        /// STATE_DIR, for the lock that all requests of this node share.
        std::string state_directory;
        std::function<void(const std::string&)> warn;
        /// Blocks that this node has lost: what a person must know of.
        std::function<void(const std::string&)> report;
    };

    BlocksStore(std::shared_ptr<ipam::BlockFile> file, Options options)
        : file_(std::move(file)), options_(std::move(options)) {}

    /// Also throws ipam::RequestedAddressTaken, for an address in a block of another node, and RangeMoved.
    [[nodiscard]] ipam::ReserveOutcome reserve(const ipam::Owner& owner, const std::vector<ipam::Claim>& claims,
                                               const base::Deadline& deadline) override;

    // These ask the cluster nothing. What is to go back to it then, settle() gives back.

    std::vector<ipam::Lease> release(const ipam::OwnerKey& key, const base::Deadline& deadline) override {
        return file_->withdraw(key, {}, deadline);
    }
    std::vector<ipam::Lease> withdraw(const ipam::OwnerKey& key, const std::vector<ipam::Lease>& unused,
                                      const base::Deadline& deadline) override {
        return file_->withdraw(key, unused, deadline);
    }
    std::vector<ipam::Lease> reclaim(const std::vector<ipam::Lease>& leases, const base::Deadline& deadline) override {
        return file_->reclaim(leases, deadline);
    }
    std::vector<ipam::Lease> adopt(const std::vector<ipam::Lease>& leases, const ipam::Owner& heir,
                                   const base::Deadline& deadline) override {
        return file_->adopt(leases, heir, deadline);
    }
    [[nodiscard]] std::vector<ipam::Lease> find(const ipam::OwnerKey& key,
                                                const base::Deadline& /*deadline*/) override {
        return file_->find(key);
    }
    [[nodiscard]] std::vector<ipam::Lease> find_predecessors(const ipam::Owner& owner,
                                                             const base::Deadline& /*deadline*/) override {
        return file_->find_predecessors(owner);
    }
    [[nodiscard]] std::vector<ipam::Lease> list(const ipam::Claim& claim, const std::optional<base::IpAddress>& after,
                                                std::size_t most, const base::Deadline& /*deadline*/) override {
        return file_->list(claim, after, most);
    }
    [[nodiscard]] std::vector<ipam::Lease> list_all(const base::Deadline& /*deadline*/) override {
        return file_->list_all();
    }
    /// Because STATUS comes twice a second on each node: while nothing says that the range is full, it counts as free.
    [[nodiscard]] bool has_free(const ipam::Claim& claim, const base::Deadline& deadline) override;
    /// On this node.
    [[nodiscard]] ipam::Usage usage(const ipam::Claim& claim, const base::Deadline& /*deadline*/) override {
        return file_->usage(claim);
    }
    [[nodiscard]] std::vector<ipam::Rival> find_rivals(const base::Deadline& /*deadline*/) override {
        return file_->find_rivals();
    }

    /// Confirms the blocks first, and makes those again whose objects are missing.
    [[nodiscard]] std::vector<ipam::Regained> regain(const std::vector<ipam::Lease>& leases,
                                                     const base::Deadline& deadline) override;

    /// Gives blocks back that are empty for long, and finds out what became of requests without an answer. Asks nobody
    /// anything if there is none. Throws ipam::StoreError; what is left then stays written down.
    void settle(std::chrono::seconds idle, const base::Deadline& deadline);

    /// Asks the cluster what it says of this node's blocks, and looks for blocks that it has for this node and the file
    /// lacks. For `gc` and whoever keeps the node. Throws ipam::StoreError.
    void confirm(const base::Deadline& deadline);

private:
    [[nodiscard]] bool is_unconfirmed(const ipam::Claim& claim) const;
    void confirm_soon(const base::Deadline& deadline);
    void search(const std::vector<ipam::Claim>& claims, std::size_t at, const base::Deadline& deadline);
    void explain(ipam::Regained& regained, const std::vector<ipam::Block>& before) const;

    std::shared_ptr<ipam::BlockFile> file_;
    Options options_;
    ipam::Trust trust_ = ipam::Trust::fresh;
    bool has_confirmed_ = false;
    std::map<std::size_t, ipam::Exhausted> searched_; // by claim: one search of the cluster is enough for one ADD
};

} // namespace rdmanet::cluster
