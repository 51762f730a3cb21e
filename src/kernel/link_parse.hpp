// What the kernel says about one interface, as a value.
#pragma once

#include <rdmanet/kernel/link.hpp>

#include <optional>

namespace rdmanet::kernel {

/// nullopt if it is not an RTM_NEWLINK message.
[[nodiscard]] std::optional<Link> parse_link(const nlmsghdr& message);

} // namespace rdmanet::kernel
