// Parses the kernel's description of an interface.
#pragma once

#include <rdmanet/kernel/link.hpp>

#include <optional>

namespace rdmanet::kernel {

// Attributes since Linux 6.3, which the headers of a build may not have (IFLA_..., linux/if_link.h).
inline constexpr int kGsoIpv4MaxSize = 63;
inline constexpr int kGroIpv4MaxSize = 64;

/// nullopt if it is not an RTM_NEWLINK message.
[[nodiscard]] std::optional<Link> parse_link(const nlmsghdr& message);

} // namespace rdmanet::kernel
