// `rdmanet ipam check --repair`: the lease stores have again what living attachments of this node use.
#pragma once

#include <rdmanet/attach/node.hpp>
#include <rdmanet/ipam/lease.hpp>

#include <functional>
#include <string>
#include <vector>

namespace rdmanet::attach {

/// What became of one address, or of all of an attachment whose store can't be asked.
struct RegainedLease {
    std::string what;              // the address, its pod and attachment
    std::vector<std::string> made; // again
    std::string refused;           // why not; empty: it is there now
};

/// Looks at each address that the journal's records have, under the lock of its attachment, and makes what its store
/// lacks, unless somebody else has the address by now. Returns what was made and what was refused. Writes down what
/// may be owed before it asks for it, as ADD does. Attachments whose pods are dead are left to GC. `is_meant`: which
/// leases.
[[nodiscard]] std::vector<RegainedLease> regain_leases(const Node& node,
                                                       const std::function<bool(const ipam::Lease&)>& is_meant);

} // namespace rdmanet::attach
