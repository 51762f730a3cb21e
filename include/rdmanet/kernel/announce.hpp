// Telling the neighbours at once that an address has moved here: their caches may still hold its last owner's MAC.
#pragma once

#include <rdmanet/base/ip_address.hpp>
#include <rdmanet/base/mac_address.hpp>

#include <rdmanet/kernel/netns.hpp>

#include <span>
#include <vector>

namespace rdmanet::kernel {

// IPv4 addresses are announced by the kernel itself when a link with Sysctl::arp_notify comes up. There is no such way
// for IPv6 addresses without duplicate address detection (addrconf_dad_begin()), and a packet socket for either costs
// 15 ms: closing one waits for an RCU grace period (packet_release()).

/// Sends one unsolicited neighbour advertisement to all nodes for each address (RFC 4861, section 7.2.6). `ifindex` is
/// one of `netns` and up. Never waits. Throws base::SystemError (EADDRNOTAVAIL: no
/// address of the interface is usable yet).
void announce_ipv6(const Netns& netns, unsigned ifindex, const base::MacAddress& mac,
                   std::span<const base::IpAddress> addresses);

/// The packet of announce_ipv6(), with its IPv6 header.
[[nodiscard]] std::vector<unsigned char> neighbour_advertisement(const base::MacAddress& mac,
                                                                 const base::IpAddress& address);

} // namespace rdmanet::kernel
