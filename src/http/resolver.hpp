// From the name of a server to its addresses. Not by getaddrinfo(): linked statically it loads shared libraries of
// the same C library, which a node need not have, and it knows no deadline.
#pragma once

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/ip_address.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace rdmanet::http {

/// At least one: the host itself if it is an address, else what /etc/hosts says, else DNS. Throws Failure.
[[nodiscard]] std::vector<base::IpAddress> resolve(const std::string& host, const base::Deadline& deadline);

/// The addresses of a host in the text of /etc/hosts (hosts(5)).
[[nodiscard]] std::vector<base::IpAddress> find_in_hosts(std::string_view text, std::string_view host);

} // namespace rdmanet::http
