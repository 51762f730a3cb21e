#include "device_ready.hpp"

#include "device_link.hpp"

#include <rdmanet/base/wait.hpp>

namespace rdmanet::attach {

std::optional<RdmaDevices> wait_for_devices(const base::BusAddress& address, const MadeByDriver& expected,
                                            kernel::Socket& route, kernel::Socket* rdma, const base::Deadline& until) {
    return base::wait_for(until, [&]() -> std::optional<RdmaDevices> {
        RdmaDevices devices = rdma != nullptr ? find_rdma_devices(address, *rdma) : RdmaDevices{};
        const bool has_link = !expected.link || find_link_on_host(address, route);
        if (has_link && devices.size() >= expected.rdma_devices) return devices;
        return std::nullopt;
    });
}

} // namespace rdmanet::attach
