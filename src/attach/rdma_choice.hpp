// Which of a function's RDMA devices go into the pod, and what they are called there.
#pragma once

#include "device.hpp"

namespace rdmanet::attach {

/// In the order in which the driver made them: a name may become another by udev, a number can't.
void sort_as_made(RdmaDevices& devices);

/// Throws CniError where the policy chooses, but another entry of the list has chosen and moved already.
void refuse_late_choice(const base::BusAddress& address, const config::RdmaPolicy& policy);

/// Of the RDMA devices that the function has on the host, the plan's: those that move, and the others. Throws CniError
/// that lists them where none is meant, or several are to have one name.
void choose_rdma(DevicePlan& plan, const config::RdmaPolicy& policy, RdmaDevices present);

/// The same again of what the driver has made when it was bound anew, by their places: the names may be the kernel's
/// own yet, until udev gives them others.
void choose_rdma_again(DevicePlan& plan, const config::RdmaPolicy& policy, RdmaDevices made);

} // namespace rdmanet::attach
