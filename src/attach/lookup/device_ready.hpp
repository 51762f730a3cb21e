// Waits for what a driver creates after it was bound: the net device and the RDMA devices.
#pragma once

#include "rdma_devices.hpp"

#include <rdmanet/kernel/netlink_socket.hpp>

#include <chrono>
#include <cstddef>
#include <optional>

namespace rdmanet::attach {

/// What the driver must create at least.
struct MadeByDriver {
    bool link = true;
    std::size_t rdma_devices = 1;
};

/// Waits until everything expected exists, and returns the RDMA devices. nullopt if it does not exist in time. `rdma`
/// is null if the kernel has no RDMA.
[[nodiscard]] std::optional<RdmaDevices> wait_for_devices(const base::BusAddress& address, const MadeByDriver& expected,
                                                          kernel::Socket& route, kernel::Socket* rdma,
                                                          const base::Deadline& until);

} // namespace rdmanet::attach
