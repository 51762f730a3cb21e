// The leases that the node keeps itself, in a file that the journal can make again.
#pragma once

#include <rdmanet/attach/node.hpp>
#include <rdmanet/base/deadline.hpp>
#include <rdmanet/ipam/lease.hpp>
#include <rdmanet/ipam/store.hpp>
#include <rdmanet/ipam/store/lease_file.hpp>
#include <rdmanet/state/attachment_store.hpp>

#include <vector>

namespace rdmanet::attach {

class NodeStore {
public:
    /// Touches nothing. A new file starts with the leases in the journal's records. `node` and `records` must outlive this.
    NodeStore(const Node& node, const state::AttachmentStore& records);

    /// For the allocator. Its calls throw ipam::DamagedStore.
    [[nodiscard]] ipam::Store& store() { return file_; }
    /// Whether it has given an address in this boot. Asks for the file only.
    [[nodiscard]] bool is_there() const;
    /// Throws ipam::DamagedStore.
    [[nodiscard]] std::vector<ipam::Lease> list_unrepaired(const base::Deadline& deadline);

    // These first rebuild a damaged file from the journal: DEL and GC must not fail for ever because a file is broken.

    /// Releases the attachment's leases.
    void release(const state::AttachmentKey& key, const base::Deadline& deadline);
    /// The same after an ADD that failed. The leases that it took (`fresh`) get no cooldown: no program has used them.
    void withdraw(const state::AttachmentKey& key, const std::vector<ipam::Lease>& fresh,
                  const base::Deadline& deadline);
    [[nodiscard]] std::vector<ipam::Lease> find(const state::AttachmentKey& key, const base::Deadline& deadline);
    [[nodiscard]] std::vector<ipam::Lease> list(const base::Deadline& deadline);
    [[nodiscard]] std::vector<ipam::Regained> regain(const std::vector<ipam::Lease>& leases,
                                                     const base::Deadline& deadline);

private:
    template <class Act>
    auto repaired(const base::Deadline& deadline, Act act);

    const Node& node_;
    ipam::LeaseFile file_;
};

} // namespace rdmanet::attach
