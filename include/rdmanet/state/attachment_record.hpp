// The journal's record of one attachment, and the first half of the journal's format (the second half is step.hpp; the
// rules are in fields.hpp). It is written before the first change to the system, and is enough to undo the attachment.
#pragma once

#include <rdmanet/base/ip_address.hpp>
#include <rdmanet/base/vf_settings.hpp>
#include <rdmanet/state/attachment_key.hpp>
#include <rdmanet/state/fields.hpp>
#include <rdmanet/state/step.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rdmanet::state {

enum class Phase : std::uint8_t {
    prepared, // steps may be applied or not: ADD is running, or it was killed
    attached, // ADD has succeeded
};
[[nodiscard]] std::string_view to_string(Phase phase);
[[nodiscard]] constexpr std::array<Phase, 2> enumerators(Phase /*type*/) {
    return {Phase::prepared, Phase::attached};
}

/// Identifies a network namespace: its path, the device and inode in nsfs (which a later namespace may get again), and
/// the kernel's cookie (which no other namespace gets; 0 before Linux 5.14).
struct NetnsIdentity {
    std::string path;
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::uint64_t cookie = 0;

    void fields(Fields& f) { f("path", path)("device", device)("inode", inode)("cookie", cookie); }
};

/// Stays the same over kubelet's retries, which change the container ID. Empty outside Kubernetes.
struct Pod {
    std::string pod_namespace;
    std::string name;
    std::string uid;

    void fields(Fields& f) { f("namespace", pod_namespace)("name", name)("uid", uid); }
};

/// A lease of the built-in allocator. The lease store can be rebuilt from it.
struct RecordedLease {
    std::string space;     // address space of the allocator
    unsigned slot = 0;     // which of the attachment's addresses it is
    std::string address;   // "ADDRESS/LENGTH" as given to the pod
    unsigned cooldown = 0; // seconds after its release in which nobody gets it

    void fields(Fields& f) { f("space", space)("slot", slot)("address", address)("cooldown", cooldown); }
};

/// A pool of a store that the cluster shares: address space and subnet.
struct LeasePool {
    std::string space;
    std::string subnet;
    std::string uid{}; // of the object that holds it, which no other cluster has; empty if it is not known

    void fields(Fields& f) { f("space", space)("subnet", subnet).optional("uid", uid); }
    friend bool operator==(const LeasePool& a, const LeasePool& b) {
        return a.space == b.space && a.subnet == b.subnet;
    }
};

/// An address in a store that the cluster shares.
struct ClaimedAddress {
    std::string space;
    std::string address;

    void fields(Fields& f) { f("space", space)("address", address); }
    friend bool operator==(const ClaimedAddress&, const ClaimedAddress&) = default;
};

/// Where leases are that are not in the node's own store.
struct LeaseStore {
    std::string kind;       // "whereabouts", "blocks"
    std::string kubeconfig; // path; its content is read at every call
    std::vector<LeasePool> pools;
    std::string name_space{}; // of whereabouts' objects; empty: as the kubeconfig says
    std::string node_name{};  // as this node's; empty: the host's name
    /// In milliseconds, where they are not the default ones.
    std::optional<std::uint32_t> connect_timeout{};
    std::optional<std::uint32_t> request_timeout{};
    /// In seconds of CLOCK_BOOTTIME. Until then the server may still carry out a request that got no answer, also one of
    /// an ADD that was killed.
    std::optional<std::int64_t> unsettled_until{};
    /// What such a request may leave and no pool leads to: reservations.
    std::vector<ClaimedAddress> unsettled{};
    /// A claim in a pool was about to be sent. The ADD that sent it takes this away when it knows what became of it.
    bool has_open_claim = false;
    bool is_released = false; // whatever could be found was given back

    void fields(Fields& f) {
        f("kind", kind)("kubeconfig", kubeconfig)("pools", pools);
        f.optional("namespace", name_space).optional("nodeName", node_name);
        f.optional("connectTimeoutMs", connect_timeout).optional("requestTimeoutMs", request_timeout);
        f.optional("unsettledUntil", unsettled_until).optional("unsettled", unsettled);
        f.optional("openClaim", has_open_claim).optional("released", is_released);
    }
    friend bool operator==(const LeaseStore&, const LeaseStore&) = default;
};

/// What the network asks for beyond the steps. `rdmanet check` needs it, because it has no configuration.
struct Wanted {
    std::string mac;             // of the pod's interface at the end of ADD; empty if it has none
    base::VfSettings vf;         // the configured settings, also those that the driver does not report
    bool gids = false;           // ADD waited for the GIDs of all addresses, and fails without them
    bool active_port = false;    // ADD fails without an active RDMA port
    std::uint32_t most_gids = 0; // entries of a shared GID table; 0: no limit

    void fields(Fields& f) {
        f("mac", mac)("vf", vf)("gids", gids)("activePort", active_port).optional("mostGids", most_gids);
    }
};

struct AttachmentRecord {
    /// Rises only when a reader that ignores a new field would leave something that reaches the next pod.
    static constexpr std::uint32_t kVersion = 1;

    AttachmentKey key;
    Phase phase = Phase::prepared;
    bool removal_unfinished = false; // a DEL or GC began to undo it, and something is left
    std::string attach;              // what the pod gets: "macvlan", "ipvlan"
    std::string boot_id;             // /proc/sys/kernel/random/boot_id: kernel objects do not survive a reboot
    std::uint64_t pid_view = 0;      // kernel::ProcView::id() of the recorder: its /proc can prove the namespace dead
    std::int64_t created = 0;        // seconds since the epoch
    std::int64_t created_since_boot = 0; // the same in seconds of CLOCK_BOOTTIME, which nobody can change
    NetnsIdentity netns;
    Pod pod;
    std::string rdma_device; // "mlx5_0/1", empty without RDMA
    std::vector<RecordedLease> leases;
    /// Absent where they are in the node's own store. Without `leases`: some may have been claimed there.
    std::optional<LeaseStore> lease_store;
    std::vector<std::string> ips;                // as in the result, from any IPAM
    std::vector<std::string> routes;             // destinations of the routes that were added
    std::optional<base::VfSettings> vf_settings; // those that CHECK must find again beyond the configured ones
    std::optional<Wanted> wanted;                // absent until ADD succeeds
    std::vector<Step> steps;                     // in the order of applying them

    void fields(Fields& f) {
        f("network", key.network)("containerID", key.container_id)("ifname", key.ifname)("role", key.role);
        f("phase", phase)("attach", attach)("bootID", boot_id)("pidNamespace", pid_view);
        f("created", created)("createdSinceBoot", created_since_boot);
        f.optional("removalUnfinished", removal_unfinished);
        f("netns", netns)("pod", pod)("rdmaDevice", rdma_device)("leases", leases).optional("leaseStore", lease_store);
        f("ips", ips)("routes", routes).optional("vfSettings", vf_settings).optional("wanted", wanted)("steps", steps);
    }

    /// Whether it owes addresses to a store that the cluster shares: a DEL or a rollback could not give them back.
    [[nodiscard]] bool owes_addresses() const { return removal_unfinished && lease_store.has_value(); }

    /// The attachment's child of a parent; null if it has none.
    [[nodiscard]] const Child* child() const;

    /// The first held_device() of its steps. Empty if there is none.
    [[nodiscard]] std::string device() const;

    /// The first step of that kind; null if there is none.
    template <class Kind>
    [[nodiscard]] const Kind* find_step() const {
        for (const Step& step : steps)
            if (const auto* found = std::get_if<Kind>(&step)) return found;
        return nullptr;
    }

    /// The valid ones of `ips`.
    [[nodiscard]] std::vector<base::IpPrefix> prefixes() const;
    [[nodiscard]] std::vector<base::IpAddress> addresses() const;

    template <class... Kinds>
    [[nodiscard]] bool has_step() const {
        return (... || (find_step<Kinds>() != nullptr));
    }

    /// The topics by which list_about() finds it (rdmanet/state/topic.hpp).
    [[nodiscard]] std::vector<std::string> topics() const;

    [[nodiscard]] std::string to_text() const;
    /// Throws json::ParseError or json::ValueError for a text that lacks a member which to_text() always writes, has
    /// one of another type, or is of a higher version.
    [[nodiscard]] static AttachmentRecord parse(std::string_view text);
};

/// For people: the attachment, its pod and its addresses.
[[nodiscard]] std::string describe(const AttachmentRecord& record);

/// Sorts by boot, the present one first, and within a boot by CLOCK_BOOTTIME. Earlier boots are sorted by the wall
/// clock of their latest records.
void sort_youngest_first(std::vector<AttachmentRecord>& records, std::string_view present_boot);

} // namespace rdmanet::state
