// Packets of IPv4's address resolution (RFC 826, RFC 5227) and of IPv6's neighbour discovery (RFC 4861), as Ethernet
// frames: they ask who has an address before it is used, and announce an address.
#pragma once

#include <rdmanet/base/ip_address.hpp>
#include <rdmanet/base/mac_address.hpp>

#include <optional>
#include <span>
#include <vector>

namespace rdmanet::kernel {

/// Asks about an address that this host does not have: ARP probe (RFC 5227, section 2.1.1), or neighbour solicitation
/// from the unspecified address (RFC 4862, section 5.4.2). No cache changes.
[[nodiscard]] std::vector<unsigned char> address_probe(const base::MacAddress& mac, const base::IpAddress& address);

/// Announces an address: ARP announcement (RFC 5227, section 2.3), or unsolicited neighbour advertisement (RFC 4861,
/// section 7.2.6).
[[nodiscard]] std::vector<unsigned char> address_announcement(const base::MacAddress& mac,
                                                              const base::IpAddress& address);

/// The Ethernet group address that address_probe() sends to, and the one that answers are sent to. RFC 2464, section
/// 7.
[[nodiscard]] base::MacAddress::Bytes solicited_node_group(const base::IpAddress& address);
[[nodiscard]] base::MacAddress::Bytes all_nodes_group();

/// The MAC of another host that has `address`, or is about to take it, if `frame` shows that: an answer, an ARP
/// packet of any kind from the address, or another host's probe for it (RFC 5227, section 2.1.1; RFC 4862, sections
/// 5.4.3 and 5.4.4). `own` does not count.
[[nodiscard]] std::optional<base::MacAddress> find_holder(std::span<const unsigned char> frame,
                                                          const base::IpAddress& address, const base::MacAddress& own);

} // namespace rdmanet::kernel
