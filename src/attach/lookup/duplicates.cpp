#include "duplicates.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/base/wait.hpp>

#include <linux/if.h>

#include <chrono>
#include <optional>

namespace rdmanet::attach {

bool has_neighbours(const kernel::Link& link) {
    return (link.flags & IFF_NOARP) == 0;
}

bool wait_for_carrier(kernel::Socket& route, unsigned ifindex, const base::Deadline& deadline) {
    constexpr std::chrono::seconds kTimeout{2};
    std::optional<kernel::Link> link;
    base::wait_for(deadline.at_most(kTimeout), [&] {
        link = kernel::find_link(route, ifindex);
        return !link || link->can_send();
    });
    return link && link->can_send();
}

void refuse_taken_addresses(const kernel::AddressProber& prober, const std::vector<base::IpAddress>& addresses,
                            const std::string& interface, const base::Deadline& deadline) {
    const auto holder = prober.find_holder(addresses, deadline);
    if (!holder) return;
    throw AddressInUse(holder->address,
                       fmt::format("address {} is in use in the network of interface {}: the host with MAC address {} "
                                   "has it. Remove it from that host, or add it to \"exclude\" of the range; a retry "
                                   "gets another address of the range meanwhile. If that host is a pod of another "
                                   "node, the two nodes do not share the leases of the range: keep them in the cluster "
                                   "on both, or give each node a range of its own",
                                   holder->address, base::quoted(interface), holder->mac));
}

} // namespace rdmanet::attach
