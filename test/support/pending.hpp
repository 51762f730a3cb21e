// What the kernel still has to do with links that were set up, read from the lines of a snapshot.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace rdmanet::test {

/// The lines of links and addresses that will still change by themselves. Empty if the node has settled. A worker
/// turns a change of carrier into the link's state (net/core/link_watch.c). Then a link with carrier gets its
/// link-local address. This address is tentative and lacks its local route until duplicate address detection ends
/// (addrconf_dad_work(), net/ipv6/addrconf.c).
[[nodiscard]] std::vector<std::string> still_pending(const std::multiset<std::string>& lines);

} // namespace rdmanet::test
