// Nodes as etcd knows them, for a person who says that one is gone, or that it has another name. Without Kubernetes
// nobody else can say so.
#pragma once

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/etcd/client.hpp>
#include <rdmanet/ipam/lease.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace rdmanet::cluster {

/// A machine id and a name. After two machines had one machine id, or without its node's key, there may be leases of
/// names that no node's key has.
struct EtcdNodeState {
    std::string machine_id;
    std::string name;
    std::string boot_id; // the present one, as far as etcd knows; empty: released, or no key
    /// A boot that was replaced and came back: two machines have this machine id and name.
    std::string returned_boot_id;
    std::vector<ipam::Lease> leases; // by space and address; owner.other_node is the name
};

/// Every call throws ipam::StoreError, and base::TimeoutError. A call that was interrupted is repeated to go on.
class EtcdNodes {
public:
    /// Asks nobody anything. `prefix` of all keys, without a slash at its end.
    EtcdNodes(etcd::Client client, const std::string& prefix);
    ~EtcdNodes();

    /// All of them, by machine id and name. Reads each lease.
    [[nodiscard]] std::vector<EtcdNodeState> list(const base::Deadline& deadline);

    /// Releases what the node's pods have, whether they live or not, and calls `released` for each address. Claims that
    /// the node has sent before have no effect after it. A boot that was released this way is refused if it comes back;
    /// the next boot of the machine is not.
    void release(const std::string& machine_id, const std::string& name,
                 const std::function<void(const ipam::Lease&)>& released, const base::Deadline& deadline);

    /// Says that the machine has another name: its pods keep their addresses. Returns how many leases were rewritten.
    /// Refuses if the machine id is not that of node `from`.
    std::size_t rename(const std::string& machine_id, const std::string& from, const std::string& to,
                       const base::Deadline& deadline);

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

} // namespace rdmanet::cluster
