// IP addresses in all network namespaces of the node, for who cannot say any more whose they are.
#pragma once

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/ip_address.hpp>

#include <string>
#include <utility>
#include <vector>

namespace rdmanet::leases {

struct NodeAddresses {
    std::vector<std::pair<base::IpAddress, std::string>> in_use; // each with a path of its network namespace
    std::string doubt;                                           // why there may be more; empty: these are all

    /// Who has one of `addresses`, but for those in `known`; empty: nobody as far as can be seen.
    [[nodiscard]] std::string find_user(const base::IpPrefix& addresses,
                                        const std::vector<base::IpAddress>& known) const;
};
[[nodiscard]] NodeAddresses list_node_addresses(const base::Deadline& deadline);

} // namespace rdmanet::leases
