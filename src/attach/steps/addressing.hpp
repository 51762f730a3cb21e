// Addresses and routes on the pod's interface.
#pragma once

#include "lookup/pod_side.hpp"

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/logger.hpp>
#include <rdmanet/cni/result.hpp>
#include <rdmanet/config/config.hpp>
#include <rdmanet/kernel/link.hpp>
#include <rdmanet/kernel/netlink_socket.hpp>
#include <rdmanet/kernel/netns.hpp>

#include <vector>

namespace rdmanet::attach {

/// The link, which is down, gets no IPv6 link-local address when it comes up.
void suppress_link_local(PodSide& pod, const kernel::Link& link);

/// Where neighbours are asked for the addresses of an interface. Answers to an ipvlan child's ARP probe don't reach it,
/// as the address that they go to, 0.0.0.0, is none of its own (ipvlan_addr_lookup()): its parent asks, whose MAC it
/// has.
struct AskingSide {
    const kernel::Netns* netns = nullptr; // without one the host's
    unsigned ifindex = 0;
};

/// Gives the link its addresses and sets it up. IPv6 is switched on for the interface where a default has it off.
/// Waits a few seconds for another child of the parent that has the same MAC or address to go. Throws CniError if it
/// stays, and with DuplicateDetection::probe if another host has one of the addresses.
void bring_up(PodSide& pod, const kernel::Link& link, const base::InterfaceName& name,
              const std::vector<cni::IpConfig>& ips, config::DuplicateDetection detection, const AskingSide& asking,
              const base::Deadline& deadline, const base::Logger& log);

/// Adds the routes; the first gateway of the family stands in for a missing one. Returns those that were added, with
/// the gateways that they got: a default route is left out as the policy says, with a line in the log.
[[nodiscard]] std::vector<cni::Route> add_routes(PodSide& pod, const kernel::Link& link, const cni::Result& wanted,
                                                 config::DefaultRoute policy, const base::Logger& log);

} // namespace rdmanet::attach
