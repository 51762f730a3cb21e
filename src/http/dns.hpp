// From the name of a server to its addresses. Not by getaddrinfo(): linked statically it loads shared libraries of
// the same C library, which a node need not have, and it gives each name server whole seconds for each question. Here
// all questions (RFC 1035) are over at a deadline.
#pragma once

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/ip_address.hpp>
#include <rdmanet/base/socket_address.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rdmanet::http {

struct NameServer {
    base::IpAddress address;
    std::uint16_t port = 53;
    std::uint32_t scope = 0; // of a link-local address: ifindex

    [[nodiscard]] base::SocketAddress socket_address() const { return {address, port, scope}; }
};

/// Of resolv.conf(5).
struct ResolverConfiguration {
    std::vector<NameServer> servers;
    std::vector<std::string> search;
    unsigned dots = 1;               // a name with so many is looked up as it is first
    bool is_tcp_only = false;        // "use-vc"
    std::chrono::seconds timeout{5}; // of a server that is asked by TCP; by UDP the next one is asked long before
};

/// Without a server, this host's.
[[nodiscard]] ResolverConfiguration parse_resolver_configuration(std::string_view text);

/// The host's addresses, at least one; those of a family to which this host has no route come last. Throws Failure. A
/// server that does not answer costs a fraction of a second. If only one family's answer has come, the other one is
/// waited for during half of the time, unless IPv4 addresses are there and have a route.
[[nodiscard]] std::vector<base::IpAddress>
ask_name_servers(const std::string& host, const ResolverConfiguration& configuration, const base::Deadline& deadline);

/// The addresses of a host in the text of /etc/hosts (hosts(5)).
[[nodiscard]] std::vector<base::IpAddress> find_in_hosts(std::string_view text, std::string_view host);

/// At least one: the host itself if it is an address, else what /etc/hosts says, else DNS. Throws Failure.
[[nodiscard]] std::vector<base::IpAddress> resolve(const std::string& host, const base::Deadline& deadline);

} // namespace rdmanet::http
