// Private network namespaces and interfaces for tests of the running kernel.
#pragma once

#include "support/reporter.hpp"

#include <rdmanet/kernel/link.hpp>
#include <rdmanet/kernel/netlink_socket.hpp>
#include <rdmanet/kernel/netns.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace rdmanet::kernel::test {

[[nodiscard]] base::Deadline soon();
[[nodiscard]] base::InterfaceName ifname(std::string_view text);

/// A network namespace that ends with its last descriptor. Its loopback is down. Skips the case without the right to
/// make one.
[[nodiscard]] Netns make_netns();
[[nodiscard]] Socket open_route(const Netns& netns);

struct VirtualLink {
    std::string kind;
    std::string name;
    std::string peer{};                       // the veth's other end
    std::optional<unsigned> parent_ifindex{}; // for a VLAN, which gets number 5
};
/// Creates the link and sets it up. nullopt if this kernel does not have the kind.
[[nodiscard]] std::optional<Link> make_link(Socket& socket, const VirtualLink& link);
void set_master(Socket& socket, unsigned ifindex, unsigned master);

[[nodiscard]] bool kernel_has(const std::string& kind);

/// A namespace with a veth pair "parent0" and "peer0", both up.
struct Host {
    Host();

    Netns netns;
    Socket route;
    Link parent;
};

/// A namespace for a child, with a socket in it.
struct Pod {
    Pod();

    Netns netns;
    Socket route;
};

} // namespace rdmanet::kernel::test

#define NEEDS_KIND(kind) NEEDS(::rdmanet::kernel::test::kernel_has(kind), std::string("interfaces of kind ") + (kind))
