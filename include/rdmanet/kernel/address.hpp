// IP addresses of an interface over rtnetlink (linux/if_addr.h).
#pragma once

#include <rdmanet/base/ip_address.hpp>
#include <rdmanet/kernel/netlink_socket.hpp>

#include <cstdint>
#include <vector>

namespace rdmanet::kernel {

struct Address {
    base::IpPrefix prefix;
    /// Duplicate address detection found another host that has the address (IFA_F_DADFAILED). The kernel keeps the
    /// address and does not use it.
    bool is_duplicate = false;
};

/// Lists addresses of both families. Throws NetlinkError (ENODEV: no such interface).
[[nodiscard]] std::vector<Address> list_addresses(Socket& socket, unsigned ifindex);

/// Duplicate address detection of IPv6 (RFC 4862, section 5.4); the kernel has none for IPv4.
enum class Dad : std::uint8_t {
    full,       // the address cannot be used until the check has passed, 1 to 2 s later
    optimistic, // usable at once, but not for resolving neighbours (RFC 4429); see enable_optimistic_detection()
    none,
};

/// IPv4 prefixes of up to 30 bits get their broadcast address. An existing address stays as it is. Throws
/// NetlinkError.
void add_address(Socket& socket, unsigned ifindex, const base::IpPrefix& prefix, Dad dad = Dad::full);

} // namespace rdmanet::kernel
