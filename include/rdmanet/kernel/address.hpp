// IP addresses of an interface over rtnetlink (linux/if_addr.h).
#pragma once

#include <rdmanet/base/file.hpp>
#include <rdmanet/base/ip_address.hpp>
#include <rdmanet/kernel/netlink_socket.hpp>

#include <cstdint>
#include <vector>

namespace rdmanet::kernel {

using base::Removed;
enum class Added : std::uint8_t { yes, was_present };

struct Address {
    base::IpPrefix prefix;
    std::uint32_t flags = 0; // IFA_F_*
    std::uint8_t scope = 0;  // RT_SCOPE_*, linux/rtnetlink.h

    /// Duplicate address detection is under way: not usable yet.
    [[nodiscard]] bool is_tentative() const;
    /// Another node has it: never usable.
    [[nodiscard]] bool is_duplicate() const;
};

/// Both families. Throws NetlinkError (ENODEV: no such interface).
[[nodiscard]] std::vector<Address> list_addresses(Socket& socket, unsigned ifindex);

struct AddressOptions {
    /// IPv6: usable at once, without duplicate address detection, which takes 1 to 2 s (RFC 4862).
    bool skip_duplicate_detection = false;
    /// No route to the prefix comes with the address (IFA_F_NOPREFIXROUTE).
    bool without_prefix_route = false;
};

/// IPv4 prefixes of up to 30 bits get the broadcast address that belongs to them. Throws NetlinkError.
Added add_address(Socket& socket, unsigned ifindex, const base::IpPrefix& prefix, const AddressOptions& options = {});

/// Absent: the address or the whole interface is. Throws NetlinkError.
Removed remove_address(Socket& socket, unsigned ifindex, const base::IpPrefix& prefix);

} // namespace rdmanet::kernel
