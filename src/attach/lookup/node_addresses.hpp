// IP addresses in all network namespaces of the node, for who cannot say any more whose they are.
#pragma once

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/ip_address.hpp>

#include <string>
#include <utility>
#include <vector>

namespace rdmanet::attach {

struct NodeAddresses {
    std::vector<std::pair<base::IpAddress, std::string>> in_use; // each with a path of its network namespace
    std::string doubt;                                           // why there may be more; empty: these are all

    /// Why `addresses` may be in use; empty: nobody has one of them.
    [[nodiscard]] std::string why_in_use(const base::IpPrefix& addresses) const;
};
[[nodiscard]] NodeAddresses list_node_addresses(const base::Deadline& deadline);

} // namespace rdmanet::attach
