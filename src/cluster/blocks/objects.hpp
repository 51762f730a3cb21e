// The objects of blocks in the Kubernetes API: AddressRange and AddressBlock. Both belong to the whole cluster and to
// no namespace: the name of a block is its lock, whatever namespace a kubeconfig names.
#pragma once

#include <rdmanet/base/ip_address.hpp>
#include <rdmanet/cluster/place.hpp>
#include <rdmanet/cluster/ranges.hpp>
#include <rdmanet/json/reader.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace rdmanet::cluster {

inline constexpr const char* kBlocksVersion = "rdmanet.cni/v1alpha1";
/// Keeps a block that somebody deletes by hand: only its node, or reconcile, takes it away.
inline constexpr const char* kFinalizer = "rdmanet.cni/in-use";

/// Of the server's clock, in seconds since the epoch: "2026-01-02T03:04:05Z" (RFC 3339). 0 for anything else.
[[nodiscard]] std::int64_t seconds_of(const std::string& text);

/// "NETWORK-10.0.0.16-28". Two blocks never have one name: IPv6 addresses are written with all digits, so that what is
/// before them is the space and nothing else.
[[nodiscard]] std::string object_name(const std::string& space, const base::IpPrefix& prefix);
/// The other way round; nullopt for names of another space.
[[nodiscard]] std::optional<base::IpPrefix> block_of_name(const std::string& space, const std::string& name);
/// As the value of a label: the text, or a hash of one that is too long.
[[nodiscard]] std::string label_value(const std::string& text);

/// Outside of its requestable part.
[[nodiscard]] base::Uint128 count_of_blocks(const AddressRange& range);

using NodeMark = ThisNode;

/// Whether what `maker` says of itself is this node, whichever Node object it has by now. A Node object belongs to a
/// name: kubelet takes it over on a machine that was installed anew, and on another one of that name (kubelet,
/// tryRegisterWithAPIServer()). Both have another machine id then, and the pods of the other one may live.
[[nodiscard]] bool is_same_machine(const NodeMark& maker, const NodeMark& node);

/// What reconcile has written into a block: since when, by the server's clock, its node is known to be gone, and why.
struct GoneMark {
    std::int64_t since = 0;
    std::string why; // "gone": no Node is this machine; "over": it has booted again; "off": it is marked as off

    friend bool operator==(const GoneMark&, const GoneMark&) = default;
};

struct BlockObject {
    std::string space;
    base::IpPrefix range;
    std::string range_uid;
    base::IpPrefix block;
    NodeMark node;
    std::chrono::seconds gone_after = kGoneAfter;
    std::uint64_t in_use = 0; // when it was last written
    std::string in_use_at{};  // RFC 3339
    std::optional<GoneMark> gone{};

    // Not in `spec`.
    std::string name{};
    std::string version{};
    std::string uid{};

    [[nodiscard]] std::string to_text() const;
    [[nodiscard]] std::string spec_text() const;
    [[nodiscard]] std::string labels_text() const;
    [[nodiscard]] std::string annotations_text() const;
    /// Throws json::ValueError.
    [[nodiscard]] static BlockObject parse(const json::Reader& object);
};

/// A Node object, as far as it says which machine it is.
struct NodeObject : NodeMark {
    bool is_out_of_service = false; // the taint node.kubernetes.io/out-of-service: its machine is off

    [[nodiscard]] static NodeObject parse(const json::Reader& object);
};
/// Throws ipam::StoreError if that Node is another machine than the one with this id: its name is not this node's.
void require_machine(const NodeObject& node, const std::string& machine_id);

} // namespace rdmanet::cluster
