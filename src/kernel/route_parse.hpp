// What the kernel says about one route, as values.
#pragma once

#include <rdmanet/kernel/route.hpp>

#include <vector>

namespace rdmanet::kernel {

/// One Route for each next hop of an RTM_NEWROUTE message; none if it is another message, another family (a kernel
/// without IPv6 answers a request for IPv6 with IPv4), or no unicast route.
[[nodiscard]] std::vector<Route> parse_routes(const nlmsghdr& message, base::Family family);

} // namespace rdmanet::kernel
