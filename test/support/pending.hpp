// What the kernel still has to do with links that were set up, as the lines of a snapshot show it.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace rdmanet::test {

/// The lines of links and addresses that will change without anybody's doing; empty when the node is at rest. A
/// change of carrier becomes the link's state later, in a worker (net/core/link_watch.c); a link with carrier gets
/// its link-local address after that; and an address is tentative, without its local route, until duplicate address
/// detection is over (addrconf_dad_work(), net/ipv6/addrconf.c).
[[nodiscard]] std::vector<std::string> still_pending(const std::multiset<std::string>& lines);

} // namespace rdmanet::test
