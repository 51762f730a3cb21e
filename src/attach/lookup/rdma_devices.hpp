// The RDMA devices of a bus device, on the host or in a pod.
#pragma once

#include "pod_side.hpp"
#include "shared_rdma.hpp"

#include <rdmanet/base/bus_address.hpp>
#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/ip_address.hpp>
#include <rdmanet/base/logger.hpp>
#include <rdmanet/config/config.hpp>
#include <rdmanet/kernel/link.hpp>
#include <rdmanet/kernel/netns.hpp>
#include <rdmanet/kernel/rdma.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rdmanet::attach {

using RdmaDevices = std::vector<kernel::RdmaDevice>;

/// The device's RDMA devices in the host's namespace.
[[nodiscard]] RdmaDevices find_rdma_devices(const base::BusAddress& address, kernel::Socket& rdma);
/// The same. Those that are not among `known` are asked for.
[[nodiscard]] RdmaDevices find_rdma_devices(const base::BusAddress& address, kernel::Socket& rdma,
                                            const RdmaDevices& known);

/// Sorts by index, which is the order in which the driver created them. Names do not tell, because udev changes them.
void sort_in_driver_order(RdmaDevices& devices);
/// The device's RDMA devices in the host's namespace, in that order. `rdma` is null if the kernel has no RDMA.
[[nodiscard]] RdmaDevices list_in_driver_order(const base::BusAddress& address, kernel::Socket* rdma);

/// The uverbs name ("uverbs3") of each device; empty if it has none.
[[nodiscard]] std::vector<std::string> list_uverbs(const RdmaDevices& devices, kernel::Socket& rdma);

/// Who uses an RDMA device of the device; empty if nobody does. Unbinding the driver would take it from them. A
/// driver without `disassociate_ucontext` would even wait for them without end (ib_uverbs_remove_one(),
/// drivers/infiniband/core/uverbs_main.c). `rdma` is null if the kernel has no RDMA.
[[nodiscard]] std::string user_of(const base::BusAddress& address, kernel::Socket* rdma);

/// Throws CniError if the device got another uverbs name. The device plugin has given the container the file of the
/// earlier name. `when` says what changed it, for the message.
void require_same_uverbs(const std::string& device, const std::string& before, const std::string& after,
                         std::string_view when);

/// Whether the RDMA devices move into the pod: as the policy asks, or else as the node's mode allows. Throws CniError
/// if the mode, or the kernel, does not allow what the policy asks.
[[nodiscard]] bool moves_rdma(const config::RdmaPolicy& policy, const kernel::RdmaSystem& system,
                              const std::string& network);

/// Throws CniError with the fix if the node's RDMA mode is not the one that the policy needs.
void require_mode(const config::RdmaPolicy& policy, const std::string& network, const base::Deadline& deadline);

/// The port of these devices that has the net device `link`. If there is only one port, that one. Devices, link and
/// socket are all in `pod`, or on the host if `pod` is null.
[[nodiscard]] std::optional<kernel::RdmaPort> find_port_of(kernel::Socket& rdma, const RdmaDevices& devices,
                                                           const kernel::Link& link,
                                                           const kernel::Netns* pod = nullptr);

[[nodiscard]] std::optional<kernel::RdmaPort> first_port(kernel::Socket& rdma, const kernel::RdmaDevice& device);

/// As find_port_of(), but the first port if no port has the link. The address then has no GID, and the message names
/// this port.
[[nodiscard]] std::optional<kernel::RdmaPort> port_for_gids(kernel::Socket& rdma, const RdmaDevices& devices,
                                                            const kernel::Link& link,
                                                            const kernel::Netns* pod = nullptr);

/// As wait_for_gids(), for an interface in the pod that has these RDMA devices. `port` is the interface's, if known.
/// Not for InfiniBand, where GIDs belong to the port and not to addresses.
void wait_for_gids_in_pod(const RdmaDevices& devices, std::optional<kernel::RdmaPort> port, const kernel::Link& link,
                          const std::vector<base::IpAddress>& addresses, const Call& call);

/// As missing_gids(), for the same port.
[[nodiscard]] std::vector<base::IpAddress> missing_gids_in_pod(const RdmaDevices& devices, const kernel::Netns& pod,
                                                               const kernel::Link& link,
                                                               const std::vector<base::IpAddress>& addresses,
                                                               const base::Deadline& deadline);

} // namespace rdmanet::attach
