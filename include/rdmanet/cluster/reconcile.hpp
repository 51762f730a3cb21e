// Addresses that pods and nodes have left in the cluster, and freeing them. No controller: anybody may run this, at
// any time, and several may at once.
//
// A lease of a pool is freed if two checks two minutes apart, by the server's clock, find that its machine is gone,
// off or has booted again, or, where it names no machine, that there is no pod of its name. Both checks are those of
// one process.
//
// A block is what another node may still give addresses from without asking anybody. So it is marked with the time at
// which its node was found to be gone, and why; only a later run frees it, when the node has stopped for certain. The
// node's own write takes the mark away.
#pragma once

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/cluster/survey.hpp>
#include <rdmanet/kube/api.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace rdmanet::cluster {

/// Between the two checks of leases in pools.
inline constexpr std::chrono::seconds kApart{120};
/// How long a block stays marked whose machine is off or has booted again.
inline constexpr std::chrono::seconds kOver{300};
/// How much longer than its node may give from it, if there is no such Node.
inline constexpr std::chrono::seconds kGoneMargin{600};

struct ReconcileOptions {
    enum class Act : std::uint8_t { frees, only_looks };
    Act act = Act::frees;
    std::function<void(const std::string&)> note; // says what this waits for
};

/// One record, reservation or block.
struct Left {
    std::string kind;    // of the object
    std::string object;  // its name
    std::string address; // or the prefix of the block
    std::string pod;     // "NAMESPACE/NAME"; empty for a block
    std::string ifname;
    std::string node; // of a block
    std::string rule; // that fires: "node-gone", "node-over", "node-off", "pod-name"; empty: none
    std::string why;  // the rule in words, or why it is kept
};

struct Reconciled {
    SeenStores seen{};
    std::vector<Left> freed; // or would be, in a process that only looks
    std::vector<Left> kept;  // although the pod or node is not there
    std::size_t needed = 0;  // by pods and nodes that are there
    std::size_t foreign = 0; // records that name no pod
    std::size_t unreadable = 0;
    std::string failure; // what ended a part of the work, if anything did; several with "; " in between
};

/// Frees what is left in the namespace of pools and reservations, and of blocks, and writes into the status of each
/// AddressRange how many blocks it has, how many of them lie empty, and whether nothing else has its addresses. What
/// the server does not answer or refuses is in `failure`, and the rest goes on.
[[nodiscard]] Reconciled reconcile(kube::Api& api, const ReconcileOptions& options, const base::Deadline& deadline);

} // namespace rdmanet::cluster
