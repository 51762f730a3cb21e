// Parses the kernel's description of a route.
#pragma once

#include <rdmanet/kernel/route.hpp>

#include <vector>

namespace rdmanet::kernel {

/// One Route for each next hop of an RTM_NEWROUTE message. Empty if it is another message, another family (a kernel
/// without IPv6 answers a request for IPv6 with IPv4), or not a unicast route.
[[nodiscard]] std::vector<Route> parse_routes(const nlmsghdr& message, base::Family family);

} // namespace rdmanet::kernel
