// The node as every operation sees it, and the time limits of operations.
#pragma once

#include <rdmanet/base/logger.hpp>
#include <rdmanet/kernel/proc_view.hpp>
#include <rdmanet/leases/leases.hpp>
#include <rdmanet/state/attachment_store.hpp>

#include <chrono>
#include <string>
#include <utility>

namespace rdmanet::attach {

/// Holds the journal and the leases. A reboot empties it, as it ends the kernel objects and pods that they describe.
inline constexpr const char* kDefaultStateDirectory = "/run/rdmanet";

struct Node : leases::Node {
    /// Reads the boot ID, and whose processes /proc shows.
    Node(std::string state_directory, base::Logger log);

    /// The journal.
    [[nodiscard]] state::AttachmentStore records(state::Access access = state::Access::change) const {
        return state::AttachmentStore(state_directory, access);
    }

    kernel::ProcView view;
    bool strict = false; // configurations with unknown keys are refused
};

// Each limit is shorter than the caller's, so that time is left to undo. kubelet waits 4 minutes for a sandbox, CRI-O
// 1 minute for DEL and 30 seconds for GC.
inline constexpr std::chrono::seconds kAddTimeout{100};
inline constexpr std::chrono::seconds kDelTimeout{50};
inline constexpr std::chrono::seconds kCheckTimeout{20};
inline constexpr std::chrono::seconds kGcTimeout{25};
inline constexpr std::chrono::seconds kStatusTimeout{5};
/// For the rollback of a failed ADD, after ADD's own deadline.
inline constexpr std::chrono::seconds kUndoTimeout{20};

} // namespace rdmanet::attach
