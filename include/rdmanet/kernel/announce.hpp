// Telling the neighbours at once that an address has moved here: their caches may still hold its last owner's MAC.
#pragma once

#include <rdmanet/base/ip_address.hpp>
#include <rdmanet/base/mac_address.hpp>

#include <rdmanet/kernel/netns.hpp>

#include <span>
#include <vector>

namespace rdmanet::kernel {

/// Sends, for each address, one Ethernet broadcast: a gratuitous ARP request (RFC 5227, section 3) or an unsolicited
/// neighbour advertisement to all nodes (RFC 4861, section 7.2.6). `ifindex` is one of `netns`. Never waits, needs no address to be usable yet, and asks for no answer. Throws base::SystemError
/// (ENETDOWN: the interface is down).
void announce(const Netns& netns, unsigned ifindex, const base::MacAddress& mac,
              std::span<const base::IpAddress> addresses);

/// The packets of announce(), without their Ethernet headers.
[[nodiscard]] std::vector<unsigned char> gratuitous_arp(const base::MacAddress& mac, const base::IpAddress& address);
[[nodiscard]] std::vector<unsigned char> neighbour_advertisement(const base::MacAddress& mac,
                                                                 const base::IpAddress& address);

} // namespace rdmanet::kernel
