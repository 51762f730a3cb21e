// Which of a function's RDMA devices go into the pod.
#pragma once

#include "device.hpp"

#include <rdmanet/json/reader.hpp>

namespace rdmanet::attach {

/// The key "device" of the object "rdma". Throws json::ValueError.
[[nodiscard]] std::optional<RdmaChoice> parse_rdma_choice(const json::Reader& rdma);

/// Throws CniError where the policy chooses, but another entry of the list has chosen and moved already.
void refuse_late_choice(const base::BusAddress& address, const RdmaPolicy& policy);

/// Of the RDMA devices that the function has on the host, the plan's: those that move, and the others. Throws CniError
/// that lists them where none is meant.
void choose_rdma(DevicePlan& plan, const RdmaPolicy& policy, RdmaDevices present);

} // namespace rdmanet::attach
