// The journal's entry for one attachment: written before the first change to the system, complete enough that the
// attachment can be undone from it alone.
#pragma once

#include <rdmanet/base/ip_address.hpp>
#include <rdmanet/state/attachment_key.hpp>
#include <rdmanet/state/step.hpp>
#include <rdmanet/state/vf_settings.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rdmanet::state {

enum class Phase : std::uint8_t {
    prepared, // steps may have been done or not: the ADD is under way, or it died
    attached, // ADD has succeeded
};
[[nodiscard]] std::string_view to_string(Phase phase);

/// A network namespace by path and by what the path led to: nsfs device and inode, which a later namespace may get
/// again, and the kernel's cookie, which none gets again (0 before Linux 5.14).
struct NetnsIdentity {
    std::string path;
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::uint64_t cookie = 0;
};

/// Stable over kubelet's retries, which change the container ID. Empty outside Kubernetes.
struct Pod {
    std::string pod_namespace;
    std::string name;
    std::string uid;
};

/// An address of the built-in allocator: lets the lease store be rebuilt from the journal.
struct RecordedLease {
    std::string space;     // address space of the allocator
    unsigned slot = 0;     // which of the attachment's addresses it is
    std::string address;   // "ADDRESS/LENGTH" as given to the pod
    unsigned cooldown = 0; // seconds to rest after its release
};

/// What the network asks for beyond the steps, for a comparison with the kernel that has no configuration.
struct Wanted {
    std::string mac;             // of the pod's interface when ADD was done; empty: it has none
    VfSettings vf;               // of the VF's PF, also what its driver does not tell
    bool gids = false;           // ADD waited until its addresses were GIDs, and refuses a pod without
    bool active_port = false;    // a pod without an active RDMA port is refused
    std::uint32_t most_gids = 0; // of a shared table; 0: no limit
};

struct AttachmentRecord {
    static constexpr int kVersion = 1;

    AttachmentKey key;
    Phase phase = Phase::prepared;
    bool removal_unfinished = false; // a DEL or GC began to undo it, and something is left
    std::string attach;              // what the pod gets: "macvlan", "ipvlan"
    std::string boot_id;             // /proc/sys/kernel/random/boot_id: kernel objects don't survive a reboot
    std::uint64_t pid_view = 0;      // whose /proc can prove the namespace dead: kernel::ProcView::id()
    std::int64_t created = 0;        // seconds since the epoch
    /// The same in seconds of CLOCK_BOOTTIME, which nobody can set back. Absent in records of earlier versions.
    std::optional<std::int64_t> created_since_boot;
    NetnsIdentity netns;
    Pod pod;
    std::string rdma_device; // "mlx5_0/1", empty without RDMA
    std::vector<RecordedLease> leases;
    std::vector<std::string> ips;    // as in the result, whoever gave them
    std::vector<std::string> routes; // destinations of the routes that were added
    /// Of a VF, what CHECK must find again beyond what the configuration says. Absent in records of earlier versions.
    std::optional<VfSettings> vf_settings;
    std::optional<Wanted> wanted; // absent until ADD is done, and in records of earlier versions
    std::vector<Step> steps;      // in the order of doing

    /// The child of a parent that the attachment has; null if it has none.
    [[nodiscard]] const Child* child() const;

    /// Bus address of the device that the attachment has, or has not given back whole; empty if there is none.
    [[nodiscard]] std::string device() const;

    /// `ips`, as far as they are such.
    [[nodiscard]] std::vector<base::IpPrefix> prefixes() const;
    [[nodiscard]] std::vector<base::IpAddress> addresses() const;

    /// What it can be looked for by (rdmanet/state/topic.hpp).
    [[nodiscard]] std::vector<std::string> topics() const;

    [[nodiscard]] std::string to_text() const;
    /// Throws json::ParseError or json::ValueError for what to_text() could not have written, and for other versions.
    [[nodiscard]] static AttachmentRecord parse(std::string_view text, ReadStep read_step);
};

/// The present boot's first, within each boot by the clock that nobody can set back. Of earlier boots only the wall
/// clock tells: their order is that of their latest records.
void sort_youngest_first(std::vector<AttachmentRecord>& records, std::string_view present_boot);

} // namespace rdmanet::state
