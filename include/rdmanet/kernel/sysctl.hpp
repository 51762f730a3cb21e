// Settings of IPv6 of one interface under /proc/sys/net/ipv6 (Documentation/networking/ip-sysctl.rst).
#pragma once

#include <rdmanet/base/interface_name.hpp>
#include <rdmanet/kernel/netns.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

namespace rdmanet::kernel {

enum class Sysctl : std::uint8_t {
    disable_ipv6,      // 1: no IPv6 on the interface
    keep_addr_on_down, // 1: IPv6 addresses survive "link down"
    optimistic_dad,    // 1: IFA_F_OPTIMISTIC has an effect, and link-local addresses have it (RFC 4429)
    use_optimistic,    // 1: optimistic addresses are used as source addresses like others
    ndisc_notify,      // 1: unsolicited neighbour advertisement when the link or its MAC address changes
};

enum class Written : std::uint8_t { yes, no_such_sysctl };

/// /proc/sys/net shows the calling thread's network namespace: hold a NetnsScope. Both throw base::SystemError.
/// Absent if there is no such interface, or the kernel has no IPv6.
[[nodiscard]] std::optional<int> find_sysctl(const base::InterfaceName& interface, Sysctl sysctl);
Written write_sysctl(const base::InterfaceName& interface, Sysctl sysctl, int value);

/// Makes the kernel send a neighbour advertisement for each IPv6 address when the interface of `netns` changes its
/// MAC address (ndisc_netdev_event()), and when duplicate address detection passes, but not for an address that was
/// optimistic until then (addrconf_dad_work()). Throws base::SystemError.
void announce_ipv6_changes(const Netns& netns, const base::InterfaceName& interface);

/// From now on IPv6 addresses of the interface that ask for it are usable while duplicate address detection is under
/// way, and chosen as the source of what the pod sends: without the second setting the address of another interface
/// would come first (ipv6_get_saddr_eval(), rule 3). Throws base::SystemError. No such sysctl: this kernel can't
/// (CONFIG_IPV6_OPTIMISTIC_DAD).
Written enable_optimistic_detection(const Netns& netns, const base::InterfaceName& interface);

/// Makes IPv6 addresses possible on an interface of `netns`, where pods often start with IPv6 switched off: switches it
/// on for the interface and for the loopback (an address of the pod is delivered locally through it), and keeps
/// addresses when the link goes down. The loopback's stays on afterwards: what else lives in the pod may need it by
/// then. Nothing happens in a kernel without IPv6. Throws base::SystemError.
void enable_ipv6(const Netns& netns, const base::InterfaceName& interface);

} // namespace rdmanet::kernel
