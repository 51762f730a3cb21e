#include "device_ready.hpp"

#include "device_link.hpp"

#include <thread>

namespace rdmanet::attach {

std::optional<RdmaDevices> wait_for_devices(const base::BusAddress& address, const MadeByDriver& expected,
                                            kernel::Socket& route, kernel::Socket* rdma, const base::Deadline& until) {
    for (;; std::this_thread::sleep_for(std::chrono::milliseconds{10})) {
        RdmaDevices devices = rdma != nullptr ? find_rdma_devices(address, *rdma) : RdmaDevices{};
        const bool has_link = !expected.link || find_link_on_host(address, route);
        if (has_link && devices.size() >= expected.rdma_devices) return devices;
        if (until.passed()) return std::nullopt;
    }
}

} // namespace rdmanet::attach
