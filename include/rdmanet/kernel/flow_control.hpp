// How an Ethernet port keeps a sender from sending too much: priority flow control (PFC, linux/dcbnl.h), and pause
// frames for the whole port (IEEE 802.3x, linux/ethtool_netlink.h).
#pragma once

#include <rdmanet/kernel/netlink_socket.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace rdmanet::kernel {

inline constexpr std::size_t kPriorities = 8; // of IEEE 802.1Q

/// Where a port keeps what it receives (struct dcbnl_buffer, linux/dcbnl.h).
struct PortBuffers {
    std::array<std::uint8_t, kPriorities> of_priority{}; // number of the buffer
    std::array<std::uint32_t, 8> sizes{};                // bytes, by number
};

/// From which marks a port takes a packet's priority. Without any, each packet has the port's default priority.
struct PriorityTrust {
    bool pcp = false;  // of the VLAN tag
    bool dscp = false; // of the IP header
};

struct FlowControl {
    std::uint8_t pfc = 0;      // bit P: PFC is on for priority P
    bool global_pause = false; // the port sends or obeys pause frames; only read if PFC is on
    std::optional<PortBuffers> buffers{};
    std::optional<PriorityTrust> trust{}; // since Linux 6.3
    /// The priority of packets with a DSCP, where it was set (IEEE 802.1Q APP table, `dcb app`).
    std::map<std::uint8_t, std::uint8_t> dscp_priorities{};
};

/// Of an interface in the namespace of both sockets: `route` has Protocol::route, `generic` has Protocol::generic.
/// nullopt if the driver does not say, as drivers of VFs. Changes nothing and loads no module. Throws what Socket
/// throws.
[[nodiscard]] std::optional<FlowControl> find_flow_control(Socket& route, Socket& generic, const std::string& interface,
                                                           unsigned ifindex);

} // namespace rdmanet::kernel
