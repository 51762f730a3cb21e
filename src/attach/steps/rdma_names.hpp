// Restores the names that RDMA devices on the host had before their pods.
//
// All RDMA devices of a machine share one set of names, in all namespaces together (ib_device_rename(),
// drivers/infiniband/core/device.c). A pod's administrator may rename the devices in the pod. If another device has a
// name that must be restored, the name waits until it is free. Devices in pods are never renamed.
#pragma once

#include "lookup/call.hpp"

#include <rdmanet/base/bus_address.hpp>
#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/logger.hpp>
#include <rdmanet/kernel/netlink_socket.hpp>
#include <rdmanet/kernel/rdma.hpp>
#include <rdmanet/state/attachment_store.hpp>
#include <rdmanet/state/waiting_names.hpp>

#include <string>
#include <vector>

namespace rdmanet::attach {

/// Restores the name of a device on the host. If the name is taken, it is saved to be restored later, with a warning.
/// The caller must not hold the lock of RDMA moves. Throws kernel::NetlinkError.
void restore_rdma_name(kernel::Socket& rdma, const kernel::RdmaDevice& device, const base::BusAddress& address,
                       const std::string& name, const Call& call);

/// Restores the waiting names that are free now, or whose holders also wait for their own names. Failures are only
/// warnings. The caller must not hold the lock of RDMA moves.
void restore_waiting_names(const Call& call);

/// The names that wait to be restored. If they cannot be read, warns and returns none.
[[nodiscard]] std::vector<state::WaitingName> list_waiting_names(const Call& call);

/// The name that the device should have: the one that waits to be restored, or else its present one. List `waiting`
/// before the device.
[[nodiscard]] std::string own_name(const kernel::RdmaDevice& device, const std::vector<state::WaitingName>& waiting);

/// One sentence for each device on the host whose name waits to be restored.
[[nodiscard]] std::vector<std::string> describe_waiting_names(const Call& call);

} // namespace rdmanet::attach
