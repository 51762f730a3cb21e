// From the name of a host to its addresses, for connections other than HTTP's, too.
#pragma once

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/ip_address.hpp>

#include <string>
#include <vector>

namespace rdmanet::http {

/// At least one: the host itself if it is an address, else what /etc/hosts says, else DNS as resolv.conf(5) says.
/// Addresses of a family to which this host has no route come last. Throws base::Error.
[[nodiscard]] std::vector<base::IpAddress> list_addresses_of(const std::string& host, const base::Deadline& deadline);

} // namespace rdmanet::http
