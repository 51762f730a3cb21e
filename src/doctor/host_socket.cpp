#include "host_socket.hpp"

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/error.hpp>
#include <rdmanet/kernel/netns.hpp>

#include <chrono>

namespace rdmanet::doctor {

kernel::Socket open_on_host(const inventory::Inventory& inventory, kernel::Protocol protocol) {
    const auto deadline = base::Deadline::in(std::chrono::seconds(1));
    try {
        if (const auto host = kernel::find_netns(inventory.namespaces.front().path))
            return kernel::Socket::open_in(*host, protocol, deadline);
    } catch (const base::Error&) { // this user must not
    }
    return kernel::Socket::open(protocol, deadline);
}

kernel::StatisticsReader open_statistics_on_host(const inventory::Inventory& inventory) {
    try {
        if (const auto host = kernel::find_netns(inventory.namespaces.front().path))
            return kernel::StatisticsReader::open_in(*host);
    } catch (const base::Error&) { // this user must not
    }
    return kernel::StatisticsReader::open();
}

} // namespace rdmanet::doctor
