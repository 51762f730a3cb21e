// Binding a device's driver anew: what it makes of the device then has other numbers, and perhaps other names.
#pragma once

#include "rdma_devices.hpp"

#include <rdmanet/kernel/netlink_socket.hpp>

#include <chrono>
#include <cstddef>
#include <optional>

namespace rdmanet::attach {

/// What a driver is expected to make, at least.
struct MadeByDriver {
    bool link = true;
    std::size_t rdma_devices = 1;
};

/// The RDMA devices as soon as all is there that is expected, which may be some time after the driver was bound;
/// nullopt if it doesn't come. `rdma`: null if this kernel has no RDMA.
[[nodiscard]] std::optional<RdmaDevices> wait_for_devices(const base::BusAddress& address, const MadeByDriver& expected,
                                                          kernel::Socket& route, kernel::Socket* rdma,
                                                          const base::Deadline& until);

} // namespace rdmanet::attach
