// Leases in etcd, one transaction for each ADD and each DEL, whatever the number of its addresses.
//
//   <prefix>/<space>/a/<address>                                    a lease
//   <prefix>/<space>/o/<network>/<container>/<interface>/<slot>     the same lease, by its owner
//   <prefix>/@nodes/<machine id>                                    a node: its name and boot
//   <prefix>/@nodes/<machine id>/<pod's namespace>/<pod>/<network>/<interface>/<container>/<space>/<slot>
//                                                                   the keys of that lease, by node and pod
//
// The keys of a lease are written and removed together, so all of them always have one revision (of their last change).
//
// The node's key is a fence. Every claim tests its revision. Whoever writes the key anew knows that no claim of this
// node that was sent before can take effect any more, also one whose answer was lost.
#pragma once

#include <rdmanet/etcd/client.hpp>
#include <rdmanet/ipam/store.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace rdmanet::cluster {

class EtcdStore final : public ipam::Store {
public:
    /// Of one attachment: etcd takes 128 operations at once, and each address is up to four.
    static constexpr std::size_t kMostAddresses = 32;

    struct Options {
        std::string prefix; // of all keys, without a slash at its end
        // This node. A lease of another one, or of the same machine id and another name, proves nothing here.
        std::string machine_id;
        std::string node_name;
        std::string boot_id;
        /// Address spaces in which an attachment may have leases.
        std::vector<std::string> spaces;
        /// Writes down that an address is about to be claimed. When it returns, the claim may be sent.
        std::function<void(const ipam::Lease&)> before_claim;
        std::function<void(const std::string&)> warn;
    };

    /// Asks nobody anything.
    EtcdStore(etcd::Client client, Options options);
    ~EtcdStore() override;

    [[nodiscard]] std::optional<ipam::Granted> reserve_at_once(const ipam::Owner& owner,
                                                               const std::vector<ipam::Claim>& claims,
                                                               const base::Deadline& deadline) override;
    /// The search for a free address begins anywhere in the range. Released addresses do not rest.
    [[nodiscard]] ipam::ReserveOutcome reserve(const ipam::Owner& owner, const std::vector<ipam::Claim>& claims,
                                               const base::Deadline& deadline) override;
    /// If it finds nothing, no claim of this node can take effect any more that was sent before.
    std::vector<ipam::Lease> release(const ipam::OwnerKey& key, const base::Deadline& deadline) override;
    std::vector<ipam::Lease> withdraw(const ipam::OwnerKey& key, const std::vector<ipam::Lease>& unused,
                                      const base::Deadline& deadline) override;
    std::vector<ipam::Lease> reclaim(const std::vector<ipam::Lease>& leases, const base::Deadline& deadline) override;
    std::vector<ipam::Lease> adopt(const std::vector<ipam::Lease>& leases, const ipam::Owner& heir,
                                   const base::Deadline& deadline) override;
    [[nodiscard]] std::vector<ipam::Lease> find(const ipam::OwnerKey& key, const base::Deadline& deadline) override;
    /// Of this node.
    [[nodiscard]] std::vector<ipam::Lease> find_predecessors(const ipam::Owner& owner,
                                                             const base::Deadline& deadline) override;
    [[nodiscard]] std::vector<ipam::Lease> list(const ipam::Claim& claim, const std::optional<base::IpAddress>& after,
                                                std::size_t most, const base::Deadline& deadline) override;
    /// Of this node.
    [[nodiscard]] std::vector<ipam::Lease> list_local(const ipam::Claim& claim,
                                                      const std::optional<base::IpAddress>& after, std::size_t most,
                                                      const base::Deadline& deadline) override;
    /// Of `spaces`.
    [[nodiscard]] std::vector<ipam::Lease> list_all(const base::Deadline& deadline) override;
    [[nodiscard]] bool has_free(const ipam::Claim& claim, const base::Deadline& deadline) override;
    /// Reads no lease: etcd counts.
    [[nodiscard]] ipam::Usage usage(const ipam::Claim& claim, const base::Deadline& deadline) override;

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

} // namespace rdmanet::cluster
