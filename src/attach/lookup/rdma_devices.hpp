// The RDMA devices of a device, on the host or in a pod.
#pragma once

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

/// In the order in which the driver made them: a name may become another by udev, a number can't.
void sort_as_made(RdmaDevices& devices);
/// The device's in the host's namespace, in that order. None without a socket: the kernel knows no RDMA.
[[nodiscard]] RdmaDevices list_as_made(const base::BusAddress& address, kernel::Socket* rdma);

/// "uverbs3" of each, in their order; empty for one that has none.
[[nodiscard]] std::vector<std::string> list_uverbs(const RdmaDevices& devices, kernel::Socket& rdma);

/// Who would lose the device with its driver; without `disassociate_ucontext` the driver would wait for that without
/// end (ib_uverbs_remove_one(), drivers/infiniband/core/uverbs_main.c). Empty if nobody. `rdma`: null if this kernel
/// has no RDMA.
[[nodiscard]] std::string user_of(const base::BusAddress& address, kernel::Socket* rdma);

/// What the device plugin has given the container is a number, "uverbs3": throws CniError if the device got another.
/// `when` says what it did meanwhile.
void require_same_uverbs(const std::string& device, const std::string& before, const std::string& after,
                         std::string_view when);

/// Whether the RDMA devices go along: what is asked for, else what the node's mode allows. Throws CniError where both
/// don't fit.
[[nodiscard]] bool moves_rdma(const config::RdmaPolicy& policy, kernel::RdmaNetnsMode mode, const std::string& network);

/// Throws CniError with the cure where the policy needs another RDMA namespace mode than the node has.
void require_mode(const config::RdmaPolicy& policy, const std::string& network, const base::Deadline& deadline);

/// The port that `link` is on, of these devices; of a device with a single port that one, whatever it is on. Devices
/// and link are in `pod`, which the socket is of, or without one on the host.
[[nodiscard]] std::optional<kernel::RdmaPort> find_port_of(kernel::Socket& rdma, const RdmaDevices& devices,
                                                           const kernel::Link& link,
                                                           const kernel::Netns* pod = nullptr);

[[nodiscard]] std::optional<kernel::RdmaPort> first_port(kernel::Socket& rdma, const kernel::RdmaDevice& device);

/// As find_port_of(), and the first port if none says that it is on the link: an address then has its GID nowhere, and
/// the message names that port.
[[nodiscard]] std::optional<kernel::RdmaPort> port_for_gids(kernel::Socket& rdma, const RdmaDevices& devices,
                                                            const kernel::Link& link,
                                                            const kernel::Netns* pod = nullptr);

/// As wait_for_gids(), on the port of the interface that is in the pod with these RDMA devices. Not for InfiniBand,
/// whose GIDs are its ports'.
void wait_for_gids_in_pod(const config::RdmaPolicy& policy, const RdmaDevices& devices, const kernel::Netns& pod,
                          const kernel::Link& link, const std::vector<base::IpAddress>& addresses,
                          const base::Logger& log, const base::Deadline& deadline);

/// As missing_gids(), on the same port.
[[nodiscard]] std::vector<base::IpAddress> missing_gids_in_pod(const RdmaDevices& devices, const kernel::Netns& pod,
                                                               const kernel::Link& link,
                                                               const std::vector<base::IpAddress>& addresses,
                                                               const base::Deadline& deadline);

} // namespace rdmanet::attach
