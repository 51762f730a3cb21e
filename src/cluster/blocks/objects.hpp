// The objects of the store "blocks" in the Kubernetes API: AddressRange and AddressBlock. Both belong to the whole
// cluster and to no namespace: the name of a block is its lock, whatever namespace a kubeconfig names.
#pragma once

#include <rdmanet/base/ip_address.hpp>
#include <rdmanet/json/reader.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rdmanet::cluster {

inline constexpr const char* kBlocksVersion = "rdmanet.cni/v1alpha1";

/// Of the server's clock, in seconds since the epoch: "2026-01-02T03:04:05Z" (RFC 3339). 0 for anything else.
[[nodiscard]] std::int64_t seconds_of(const std::string& text);
inline constexpr const char* kFinalizer = "rdmanet.cni/in-use";

/// "NETWORK-10.0.0.16-28". Two blocks never have one name: IPv6 addresses are written with all digits, so that what is
/// before them is the space and nothing else.
[[nodiscard]] std::string object_name(const std::string& space, const base::IpPrefix& prefix);
/// The other way round; nullopt for names of another space.
[[nodiscard]] std::optional<base::IpPrefix> block_of_name(const std::string& space, const std::string& name);
[[nodiscard]] bool overlap(const base::IpPrefix& a, const base::IpPrefix& b);
/// As the value of a label: the text, or a hash of one that is too long.
[[nodiscard]] std::string label_value(const std::string& text);

/// Values of RangeObject::store. The others of the key "store" are no names of AddressRanges yet.
inline constexpr const char* kInBlocks = "blocks";
inline constexpr const char* kInPools = "whereabouts";

/// Which store gives the addresses of a range in the whole cluster, and how. Made once, by the first node, and never
/// changed.
struct RangeObject {
    std::string space;
    base::IpPrefix subnet;
    std::string store;
    unsigned block_size = 0; // 0: the store does not cut the range
    std::optional<base::IpPrefix> requestable;
    /// No other range overlaps: whoever confirmed it has looked.
    bool is_confirmed = false;
    /// Somebody has deleted it. Its finalizer keeps it as long as it has blocks.
    bool is_going = false;
    /// What it says of a move to another store that an earlier version began: two stores may have addresses of the range,
    /// so none gives any. Empty: nothing.
    std::string half_moved{};
    std::string recorded_by{}; // the node that made it, for people; an annotation
    std::int64_t created = 0;  // by the server's clock, seconds since the epoch

    std::string version;
    std::string uid;

    [[nodiscard]] std::string name() const { return object_name(space, subnet); }
    [[nodiscard]] bool is_half_moved() const { return !half_moved.empty(); }
    /// The object as JSON, for POST.
    [[nodiscard]] std::string to_text() const;
    [[nodiscard]] std::string spec_text() const;
    /// Throws json::ValueError.
    [[nodiscard]] static RangeObject parse(const json::Reader& object);
};

/// A node, as a block names it. A name alone never counts: names are given again.
struct NodeMark {
    std::string name;
    std::string uid;        // of the Node object
    std::string machine_id; // /etc/machine-id
    std::string boot_id;

    friend bool operator==(const NodeMark&, const NodeMark&) = default;
};

/// Whether what `maker` says of itself is this node, whichever Node object it has by now. A Node object belongs to a
/// name: kubelet takes it over on a machine that was installed anew, and on another one of that name (kubelet,
/// tryRegisterWithAPIServer()). Both have another machine id then, and the pods of the other one may live.
template <class Maker, class Node>
[[nodiscard]] bool is_same_machine(const Maker& maker, const Node& node) {
    const bool has_same_id = maker.machine_id == node.machine_id;
    const bool is_id_unknown = maker.machine_id.empty() || node.machine_id.empty();
    if (maker.uid == node.uid && !node.uid.empty()) return has_same_id || is_id_unknown;
    return maker.name == node.name && has_same_id && !is_id_unknown;
}

struct BlockObject {
    std::string space;
    base::IpPrefix range;
    base::IpPrefix block;
    NodeMark node;
    std::string lease_file;   // random name of the file that has the leases in it
    bool is_released = false; // its node gives nothing from it any more: anybody may take it
    std::uint64_t in_use = 0; // when it was last written
    std::string in_use_at;    // RFC 3339

    // Not in `spec`.
    std::string version;
    std::string uid;
    std::optional<std::int64_t> missing_since; // when somebody first saw that its node is gone, by the server's clock

    [[nodiscard]] std::string name() const { return object_name(space, block); }
    [[nodiscard]] std::string to_text() const;
    [[nodiscard]] std::string spec_text() const;
    [[nodiscard]] std::string labels_text() const;
    [[nodiscard]] std::string annotations_text() const;
    [[nodiscard]] static BlockObject parse(const json::Reader& object);
};

/// A Node object, as far as it says which machine it is.
struct NodeObject {
    std::string name;
    std::string uid;
    std::string machine_id;
    std::string boot_id;

    [[nodiscard]] static NodeObject parse(const json::Reader& object);
};

} // namespace rdmanet::cluster
