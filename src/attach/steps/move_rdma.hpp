// Moves the RDMA devices of a device into the pod and back.
#pragma once

#include "step.hpp"

#include "lookup/rdma_devices.hpp"

#include <rdmanet/base/bus_address.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rdmanet::attach {

/// The steps of the RDMA devices that move. `staying` are the device's RDMA devices that stay on the host.
/// `name_in_pod` is empty if they keep their names.
[[nodiscard]] std::vector<state::Step> rdma_steps(const base::BusAddress& address, const RdmaDevices& moving,
                                                  const RdmaDevices& staying = {}, const std::string& name_in_pod = {});

} // namespace rdmanet::attach
