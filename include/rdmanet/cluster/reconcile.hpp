// What pods and nodes that are gone have left in the stores of a cluster, and giving it back. No controller: anybody
// may run this, at any time, and several may at once.
//
// A record is given back if it is seen without its pod twice, two minutes apart by the server's clock, and once more
// right before. The two looks are those of one process, which waits between them only if the first one has found
// something. So nothing has to be remembered in the cluster, and no mark of an earlier absence is mistaken for one of
// this absence.
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

/// Between the two looks at what pods have left, and at blocks of nodes.
inline constexpr std::chrono::seconds kApart{120};
inline constexpr std::chrono::seconds kBlocksApart{300};

struct ReconcileOptions {
    enum class Act : std::uint8_t { frees, only_looks };
    Act act = Act::frees;
    /// Of records that do not say their node, while some node is not ready: it may be that one.
    enum class UnknownNode : std::uint8_t { keeps, is_ready };
    UnknownNode unknown_node = UnknownNode::keeps;
    std::function<void(const std::string&)> note; // says what this waits for
};

/// One record, reservation or block; or what the old store of a range that has moved has no more.
/// One record, reservation, block or lease.
struct Left {
    std::string kind;    // of the object
    std::string object;  // its name
    std::string address; // or the prefix of the block
    std::string pod;     // "NAMESPACE/NAME"; empty for a block
    std::string ifname;
    std::string node; // of a block
    std::string rule; // that fires: "pod-uid", "pod-name", "pod-ended", "node-gone"; empty: none
    std::string why;  // the rule in words, or why it is kept
};

struct Reconciled {
    SeenStores seen{};
    std::vector<Left> freed; // or would be, in a process that only looks
    std::vector<Left> kept;  // although the pod or node is not there
    std::size_t needed = 0;  // by pods and nodes that are there
    std::size_t foreign = 0; // records that name no pod
    std::size_t unreadable = 0;
    std::string failure; // what ended the work of a store, if anything did; several with "; " in between
};

/// Gives back what is left in the namespace of pools and reservations, and of blocks. What the server does not answer
/// or refuses is in `failure`, and the other store is gone on with.
[[nodiscard]] Reconciled reconcile(kube::Api& api, const ReconcileOptions& options, const base::Deadline& deadline);

} // namespace rdmanet::cluster
