// The node as every operation sees it, and how long operations may take.
#pragma once

#include <rdmanet/base/logger.hpp>
#include <rdmanet/kernel/proc_view.hpp>

#include <chrono>
#include <string>
#include <utility>

namespace rdmanet::attach {

/// Where the journal and the leases live. Gone after a reboot, like the kernel objects and pods that they describe.
inline constexpr const char* kDefaultStateDirectory = "/run/rdmanet";

struct Node {
    /// Reads the boot ID, and whose processes /proc shows.
    Node(std::string state_directory, base::Logger log);

    std::string state_directory;
    std::string boot_id;
    kernel::ProcView view;
    base::Logger log;
    bool strict = false; // configurations with unknown keys are refused
};

// Each fits inside what callers allow, with time left to undo: kubelet gives a sandbox 4 minutes, CRI-O 1 minute to
// DEL and 30 seconds to GC.
inline constexpr std::chrono::seconds kAddTimeout{100};
inline constexpr std::chrono::seconds kDelTimeout{50};
inline constexpr std::chrono::seconds kCheckTimeout{20};
inline constexpr std::chrono::seconds kGcTimeout{25};
inline constexpr std::chrono::seconds kStatusTimeout{5};
/// For undoing a failed ADD, beyond the ADD's own deadline.
inline constexpr std::chrono::seconds kUndoTimeout{20};

} // namespace rdmanet::attach
