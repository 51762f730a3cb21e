// What the Kubernetes API has of addresses, whoever wrote it, for people. Reads, and changes nothing.
//
// Nothing here refuses an object because it is not as rdmanet would have written it: what is wrong with it is in its
// `trouble`.
#pragma once

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/ip_address.hpp>
#include <rdmanet/cluster/ranges.hpp>
#include <rdmanet/json/reader.hpp>
#include <rdmanet/kube/api.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace rdmanet::cluster {

/// One entry of an IPPool's spec.allocations.
struct SeenRecord {
    std::string key;                        // the offset, as it is written
    std::optional<base::IpAddress> address; // nullopt: the key is no offset in the range
    std::string container_id;
    std::string podref; // "NAMESPACE/NAME"
    std::string ifname; // empty in records of whereabouts before 0.6.2
    std::string text;   // the entry as JSON
    std::string trouble;
};

struct SeenPool {
    std::string name;
    std::string space; // what its name has before the range: `network_name`, or a node where ranges are cut in slices
    std::string range; // as it is written
    std::optional<base::IpPrefix> subnet; // nullopt: `range` is none
    std::size_t size = 0;                 // of its JSON
    std::vector<SeenRecord> records;      // by address; those without one at the end
    std::string mark{};                   // UID of an AddressRange: nodes allocate nothing more from it
    std::string trouble;

    /// Of what the API server stores.
    [[nodiscard]] unsigned percent() const;
};

/// An OverlappingRangeIPReservation.
struct SeenReservation {
    std::string name;
    std::string space;
    std::optional<base::IpAddress> address; // nullopt: the name ends with none
    std::string podref;
    std::string ifname;
    std::optional<std::string> container_id; // rdmanet writes it as an annotation, whereabouts before 0.4.2 in `spec`
    bool is_ours = false;                    // rdmanet made it
    std::string node;                        // of rdmanet's
    std::string pod_uid;
    std::string node_uid;
    std::string boot_id;
    std::string uid;
    std::string version;
    std::string trouble;
};

/// An AddressBlock.
struct SeenBlock {
    std::string name;
    std::string space;
    std::optional<base::IpPrefix> range; // nullopt if there is `trouble`
    std::string range_uid;
    std::optional<base::IpPrefix> block;
    std::string node;
    std::string node_uid;
    std::string boot_id;
    bool is_going = false;     // somebody has deleted it, and its finalizer keeps it
    bool is_node_gone = false; // reconcile has seen that, or that the node has booted again
    std::uint64_t in_use = 0;
    std::string in_use_at;
    std::string uid;
    std::string trouble;
};

/// An address that a pod has.
struct SeenPodAddress {
    std::string network; // "NAMESPACE/NAME" of the NetworkAttachmentDefinition
    base::IpAddress address;
};

/// A pod, by its metadata.
struct SeenPod {
    std::string name; // "NAMESPACE/NAME"
    std::string uid;
    std::string hash{}; // as SeenPodState::hash
    bool is_going = false;
    /// Of its networks but the cluster's default one, as Multus has noted them.
    std::vector<SeenPodAddress> addresses;
};

/// A pod, read whole.
struct SeenPodState {
    std::string uid;
    std::string node;
    bool is_going = false;
    bool is_running = false; // its phase, and its sandbox as far as the server knows
    bool has_ended = false;  // and its node has taken its network down
    std::string hash;        // of a static pod: its UID on its node; the server knows its mirror, which has another
};

struct SeenNode {
    std::string name;
    std::string uid;
    std::string boot_id;
};

/// What a look at the stores of a cluster has seen.
struct SeenKind {
    bool is_served = false; // the server knows that kind of object
    std::size_t count = 0;
};
struct SeenStores {
    std::string name_space{};         // of pools and reservations
    std::optional<SeenKind> pools{};  // nullopt: they can't be listed
    std::optional<SeenKind> blocks{}; // the same
};

/// Parse the objects of a list. Throw json::ValueError only for what has no name.
[[nodiscard]] SeenPool parse_seen_pool(const json::Reader& object);
[[nodiscard]] SeenReservation parse_seen_reservation(const json::Reader& object);
[[nodiscard]] SeenBlock parse_seen_block(const json::Reader& object);
/// Whether a network's configuration or list has its addresses from whereabouts, or from rdmanet but not from the
/// node's own store.
[[nodiscard]] bool has_pools(const std::string& configuration);
[[nodiscard]] SeenPod parse_seen_pod(const json::Reader& object);
[[nodiscard]] SeenPodState parse_seen_pod_state(const json::Reader& object);

/// A list is nullopt where the server does not know that kind of object. Throws ipam::StoreError.
class Survey {
public:
    /// `api` must outlive it.
    explicit Survey(kube::Api& api) : api_(api) {}

    [[nodiscard]] std::optional<std::vector<SeenPool>> list_pools(const base::Deadline& deadline);
    [[nodiscard]] std::optional<std::vector<SeenReservation>> list_reservations(const base::Deadline& deadline);

    [[nodiscard]] DeclaredRanges list_ranges(const base::Deadline& deadline) { return read_ranges(api_, deadline); }
    [[nodiscard]] std::optional<std::vector<SeenBlock>> list_blocks(const base::Deadline& deadline);
    [[nodiscard]] std::vector<SeenPod> list_pods(const base::Deadline& deadline);
    /// "NAMESPACE/NAME" of the NetworkAttachmentDefinitions whose addresses are in pools, by rdmanet or by whereabouts.
    [[nodiscard]] std::set<std::string> list_networks_with_pools(const base::Deadline& deadline);
    [[nodiscard]] std::vector<SeenNode> list_nodes(const base::Deadline& deadline);
    /// `name`: "NAMESPACE/NAME". nullopt: there is none.
    [[nodiscard]] std::optional<SeenPodState> find_pod(const std::string& name, const base::Deadline& deadline);

    // Each removes something that is still as it was seen. False: it has changed, or is gone. Throws ipam::StoreError,
    // also if the server gave no answer: what was asked for may be done then.

    [[nodiscard]] bool remove(const SeenPool& pool, const SeenRecord& record, const base::Deadline& deadline);
    [[nodiscard]] bool remove(const SeenReservation& reservation, const base::Deadline& deadline);

    /// Of pools and reservations: that of the kubeconfig's context, else whereabouts' own.
    [[nodiscard]] std::string name_space() const;

private:
    kube::Api& api_;
};

} // namespace rdmanet::cluster
