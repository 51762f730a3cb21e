// How the files of this module read what the kernel writes, each beside its requests: for each other, and for tests.
#pragma once

#include "message.hpp"

#include <rdmanet/base/ip_address.hpp>
#include <rdmanet/base/vf_settings.hpp>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace rdmanet::kernel {

struct Answer;
struct KernelQueuePair;
struct Link;
struct RdmaDevice;
struct RdmaPort;
struct RdmaSystem;
struct ReportedVf;
struct Route;

// netlink_socket.cpp

/// The whole messages in a datagram that belong to request `sequence`. An earlier request that reached its deadline may
/// have left answers behind.
[[nodiscard]] std::vector<const nlmsghdr*> messages_in(Bytes datagram, std::uint32_t sequence);
/// From an NLMSG_ERROR message: a refusal, or an acknowledgement (error 0).
[[nodiscard]] Answer parse_error(const nlmsghdr& message);
/// From an NLMSG_DONE message, the end of a dump.
[[nodiscard]] Answer parse_done(const nlmsghdr& message);

// link.cpp

/// nullopt if it is not an RTM_NEWLINK message.
[[nodiscard]] std::optional<Link> parse_link(const nlmsghdr& message);

// vf.cpp (rtnl_fill_vfinfo(), net/core/rtnetlink.c)

/// The settings of VF `number` in an answer about its PF; nullopt if they are missing.
[[nodiscard]] std::optional<base::VfSettings> parse_vf(const nlmsghdr& message, unsigned number);
/// The VFs that a message about a link reports.
[[nodiscard]] std::vector<ReportedVf> parse_reported_vfs(const nlmsghdr& message);

// route.cpp

/// One Route for each next hop of an RTM_NEWROUTE message. Empty if it is another message, another family (a kernel
/// without IPv6 answers a request for IPv6 with IPv4), or not a unicast route.
[[nodiscard]] std::vector<Route> parse_routes(const nlmsghdr& message, base::Family family);

// rdma.cpp

/// nullopt if it is another message, or has no device index.
[[nodiscard]] std::optional<RdmaDevice> parse_rdma_device(const nlmsghdr& message);
[[nodiscard]] std::optional<RdmaPort> parse_rdma_port(const nlmsghdr& message);
/// Throws NetlinkError if the kernel refused, other than for not knowing the command.
[[nodiscard]] RdmaSystem parse_rdma_system(const Answer& answer);

// rdma_use.cpp

/// From a list of queue pairs, or of connections with their queue pairs. Queue pairs of processes are left out.
[[nodiscard]] std::vector<KernelQueuePair> parse_kernel_queue_pairs(const nlmsghdr& message);

// device.cpp: the name that drivers give a net device among the ports of its switch, phys_port_name
// (net/core/devlink.c, __devlink_port_phys_port_name_get())

/// "p0": a port of the card.
[[nodiscard]] bool is_of_port(std::string_view port_name);

/// "pf0vf3": 3, the number of the VF that it represents; nullopt if it is not a representor. A card with its own
/// processors also has representors for another host's VFs, which begin with that host's controller, "c1pf0vf3".
[[nodiscard]] std::optional<unsigned> vf_of(std::string_view port_name);

} // namespace rdmanet::kernel
