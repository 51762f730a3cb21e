// Who on this node has addresses, for `rdmanet ipam`.
#pragma once

#include <rdmanet/attach/node.hpp>
#include <rdmanet/base/deadline.hpp>
#include <rdmanet/ipam/lease.hpp>
#include <rdmanet/ipam/liveness.hpp>
#include <rdmanet/state/attachment_store.hpp>

#include <string>
#include <vector>

namespace rdmanet::attach {

/// An attachment, or leases without a record.
struct LeaseHolder {
    std::string what; // with its pod and addresses
    std::string container_id;
    std::string ifname;
    ipam::Verdict pod;
    bool has_record = false;
    bool owes = false; // its DEL is done but for addresses of the cluster, which the next call gives back
};

/// By the journal and this node's own stores. Changes nothing.
[[nodiscard]] std::vector<LeaseHolder> view_lease_holders(const Node& node, const state::AttachmentStore& records,
                                                          const base::Deadline& deadline);

/// Releases a lease of this node's own store, or of its blocks, that no record leads to. Throws base::Error if there is
/// a record by now, or if its pod is not proven dead. False: the lease has changed.
[[nodiscard]] bool release_unrecorded(const ipam::Lease& lease, const Node& node, const base::Deadline& deadline);

} // namespace rdmanet::attach
