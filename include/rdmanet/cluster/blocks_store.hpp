// Leases in blocks: the cluster hands out blocks of addresses, as objects in the Kubernetes API, and each node hands
// out the addresses of its blocks from a file of its own. An ADD asks the cluster only when the node has no address
// left.
//
// The name of a block's object is its address space, first address and length, so that creating it is the lock.
#pragma once

#include <rdmanet/base/ip_address.hpp>
#include <rdmanet/ipam/errors.hpp>
#include <rdmanet/ipam/store.hpp>
#include <rdmanet/ipam/store/block_file.hpp>
#include <rdmanet/kube/api.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rdmanet::cluster {

/// How long an empty block stays with its node, if the node has another empty one.
inline constexpr std::chrono::minutes kIdleBlock{10};
/// After how long a request of unknown outcome is looked at again: by then no server works on it any more.
inline constexpr std::chrono::seconds kSettled{60};
/// A node must be seen to be gone twice, so far apart by the server's clock.
inline constexpr std::chrono::minutes kGoneTwice{5};

class BlocksStore final : public ipam::Store {
public:
    struct Options {
        /// Connects at the first call. Throws ipam::StoreError.
        std::function<kube::Api&()> api;
        /// What calls without a configuration need to connect again.
        std::string kubeconfig;
        /// The name of this node's Node object, and who this node is.
        std::string node_name;
        std::string machine_id;
        std::string boot_id;
        /// What the network's configuration says about blocks, as far as it does. The range's object decides.
        std::optional<unsigned> block_size;
        std::vector<base::IpPrefix> requestable;
        /// Whether the journal may know leases that nobody can read now. Without it: no.
        std::function<bool()> has_unreadable_records;
        /// STATE_DIR, for the lock that all requests of this node share.
        std::string state_directory;
        std::function<void(const std::string&)> warn;
        /// Blocks that this node has lost: what a person must know of.
        std::function<void(const std::string&)> report;
    };

    /// Looks at this node: why one of these addresses may be in use on it; empty: none is.
    using FindUse = std::function<std::string(const base::IpPrefix& addresses)>;

    BlocksStore(std::shared_ptr<ipam::BlockFile> file, Options options);
    ~BlocksStore() override;

    /// Also throws ipam::RequestedAddressTaken, for an address in a block of another node.
    [[nodiscard]] ipam::ReserveOutcome reserve(const ipam::Owner& owner, const std::vector<ipam::Claim>& claims,
                                               const base::Deadline& deadline) override;

    // These ask the cluster nothing. What is to go back to it then, settle() gives back.

    std::vector<ipam::Lease> release(const ipam::OwnerKey& key, const base::Deadline& deadline) override;
    std::vector<ipam::Lease> withdraw(const ipam::OwnerKey& key, const std::vector<ipam::Lease>& unused,
                                      const base::Deadline& deadline) override;
    std::vector<ipam::Lease> reclaim(const std::vector<ipam::Lease>& leases, const base::Deadline& deadline) override;
    std::vector<ipam::Lease> adopt(const std::vector<ipam::Lease>& leases, const ipam::Owner& heir,
                                   const base::Deadline& deadline) override;
    [[nodiscard]] std::vector<ipam::Regained> regain(const std::vector<ipam::Lease>& leases,
                                                     const base::Deadline& deadline) override;
    [[nodiscard]] std::vector<ipam::Lease> find(const ipam::OwnerKey& key, const base::Deadline& deadline) override;
    [[nodiscard]] std::vector<ipam::Lease> find_predecessors(const ipam::Owner& owner,
                                                             const base::Deadline& deadline) override;
    [[nodiscard]] std::vector<ipam::Lease> list(const ipam::Claim& claim, const std::optional<base::IpAddress>& after,
                                                std::size_t most, const base::Deadline& deadline) override;
    [[nodiscard]] std::vector<ipam::Lease> list_all(const base::Deadline& deadline) override;
    /// Asks the cluster nothing, because STATUS comes twice a second on each node: for a minute, what the last ADD found
    /// out counts.
    [[nodiscard]] bool has_free(const ipam::Claim& claim, const base::Deadline& deadline) override;
    /// On this node.
    [[nodiscard]] ipam::Usage usage(const ipam::Claim& claim, const base::Deadline& deadline) override;
    [[nodiscard]] std::vector<ipam::Rival> find_rivals(const base::Deadline& deadline) override;

    /// Gives blocks back that are closed, or empty for long, and finds out what became of requests without an answer.
    /// Asks nobody anything if there is none. Throws ipam::StoreError; what is owed then stays written down.
    void settle(std::chrono::seconds idle, const base::Deadline& deadline);

    /// What needs more requests, and more time: looks for blocks of an earlier boot that no call of this boot has come
    /// upon, gives back what is empty of ranges that somebody removes, and finishes such removals. False if something
    /// of an earlier boot, or of an earlier file of leases, has to be looked for again.
    bool tidy(const base::Deadline& deadline, const FindUse& find_use = {});

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

} // namespace rdmanet::cluster
