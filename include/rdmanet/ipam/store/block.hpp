// What a node knows of the ranges that the cluster cuts into blocks, and of its own blocks.
#pragma once

#include <rdmanet/base/ip_address.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rdmanet::ipam {

/// An AddressRange, as this node has last seen it.
struct BlockRange {
    std::string uid;
    std::string name; // of the object
    std::string space;
    base::IpPrefix subnet;
    unsigned block_size = 16;
    std::optional<base::IpPrefix> requestable{}; // never cut: each address is a block of one
    std::chrono::seconds gone_after{3600};
    bool is_gone = false;   // the cluster has it no more: nothing is given, and its blocks go back as pods end
    bool is_fenced = false; // the pools that it overlaps are marked, so it may be cut
    /// What had addresses of it when it was fenced, and is read again at each cut: pools ("NAMESPACE/NAME"), or blocks of
    /// other ranges (kOtherBlocks).
    std::vector<std::string> held_by{};
    // How this node reaches the cluster, for the calls that have no configuration.
    std::string kubeconfig{};
    std::string node_name{};
    bool is_scarce = false; // few blocks are left: the node keeps none that is empty

    /// A block of one that goes back to the cluster with its lease.
    [[nodiscard]] bool is_on_request(const base::IpPrefix& block) const;
    friend bool operator==(const BlockRange&, const BlockRange&) = default;
};
inline constexpr const char* kOtherBlocks = "blocks";

enum class BlockState : std::uint8_t {
    closed, // asked for, and no answer has said that it is this node's: nothing is given
    open,   // this node's: its own creation or change of the object has succeeded
    lost,   // the cluster says that it is another node's, and pods still have its addresses
    going,  // given back: nothing is given, and its object goes
};

struct Block {
    std::string range_uid;
    std::string space;
    base::IpPrefix prefix;
    BlockState state = BlockState::closed;
    std::string uid{}; // of the AddressBlock, and its version, as this node knows them
    std::string version{};
    std::string node_uid{}; // what the object says
    std::string boot_id{};
    /// When the request began that last found it as this node has written it, in seconds of CLOCK_BOOTTIME.
    std::optional<std::int64_t> confirmed{};
    std::int64_t since = 0; // when it was opened or became empty, in seconds of CLOCK_BOOTTIME
    std::string holder{};   // of a lost block: the node that has it
    std::uint64_t leases = 0;

    friend bool operator==(const Block&, const Block&) = default;
};

} // namespace rdmanet::ipam
