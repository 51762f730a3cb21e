// Which of a function's RDMA devices go into the pod, and what they are called there.
#pragma once

#include "device.hpp"

#include <rdmanet/json/reader.hpp>

namespace rdmanet::attach {

/// The keys "device" and "name" of the object "rdma". Throw json::ValueError.
[[nodiscard]] std::optional<RdmaChoice> parse_rdma_choice(const json::Reader& rdma);
[[nodiscard]] std::optional<std::string> parse_rdma_name(const json::Reader& rdma);

/// Throws CniError where the policy chooses, but another entry of the list has chosen and moved already.
void refuse_late_choice(const base::BusAddress& address, const RdmaPolicy& policy);

/// Of the RDMA devices that the function has on the host, the plan's: those that move, and the others. Throws CniError
/// that lists them where none is meant, or several are to have one name.
void choose_rdma(DevicePlan& plan, const RdmaPolicy& policy, RdmaDevices present);

} // namespace rdmanet::attach
