// IP addresses of an interface over rtnetlink (linux/if_addr.h).
#pragma once

#include <rdmanet/base/ip_address.hpp>
#include <rdmanet/kernel/netlink_socket.hpp>

#include <cstdint>
#include <vector>

namespace rdmanet::kernel {

enum class Added : std::uint8_t { yes, was_present };

struct Address {
    base::IpPrefix prefix;
};

/// Both families. Throws NetlinkError (ENODEV: no such interface).
[[nodiscard]] std::vector<Address> list_addresses(Socket& socket, unsigned ifindex);

struct AddressOptions {
    /// IPv6: usable at once, without duplicate address detection, which takes 1 to 2 s (RFC 4862).
    bool skip_duplicate_detection = false;
};

/// IPv4 prefixes of up to 30 bits get the broadcast address that belongs to them. Throws NetlinkError.
Added add_address(Socket& socket, unsigned ifindex, const base::IpPrefix& prefix, const AddressOptions& options = {});

} // namespace rdmanet::kernel
