// The RDMA devices of a device that moves.
#pragma once

#include "device.hpp"

#include <rdmanet/state/attachment_store.hpp>

namespace rdmanet::attach {

/// Decides which of the device's RDMA devices go into the pod, as configuration and the node's RDMA namespace mode have
/// it. Throws CniError with the cure where both don't fit, or RDMA is required and there is none, or none that can
/// move.
void plan_rdma(DevicePlan& plan, const config::Config& config, const cni::Request& request, const kernel::Netns& pod,
               const base::Logger& log, const base::Deadline& deadline);

/// The first part of it, for which no pod is needed. `rdma`: null if this kernel has no RDMA.
void find_rdma_of_device(DevicePlan& plan, const config::Config& config, const cni::Request& request,
                         kernel::Socket* rdma, const base::Logger& log);

/// The second: whether the devices' drivers let them go. In `elsewhere`, where they are not, the kernel is asked.
void require_movable(DevicePlan& plan, const config::RdmaPolicy& policy, kernel::Socket& rdma,
                     const kernel::Netns& elsewhere, const base::Logger& log);

/// Throws CniError with the cure where the policy needs another RDMA namespace mode than the node has.
void require_mode(const config::RdmaPolicy& policy, const std::string& network, const base::Deadline& deadline);

/// The port that `link` is on, of these devices; of a device with a single port that one, whatever it is on. Devices
/// and link are in `pod`, which the socket is of, or without one on the host.
[[nodiscard]] std::optional<kernel::RdmaPort> find_port_of(kernel::Socket& rdma, const RdmaDevices& devices,
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

/// The device's RDMA devices in the host's namespace.
[[nodiscard]] RdmaDevices find_rdma_devices(const base::BusAddress& address, kernel::Socket& rdma);

/// Those that the attachment's ADD moved into the pod, or was about to.
[[nodiscard]] RdmaDevices moved_devices(const state::AttachmentRecord& record);

/// What the device plugin has given the container is a number, "uverbs3": throws CniError if the device got another.
/// `when` says what it did meanwhile.
void require_same_uverbs(const std::string& device, const std::string& before, const std::string& after,
                         std::string_view when);

/// Those of the plan that move, the one that gets another name in the pod under that one. Throws NetlinkError; CniError
/// for a device that has another number in the pod, or can't have the name.
void move_rdma(const DevicePlan& plan, const state::AttachmentStore& records, const kernel::Netns& netns,
               const base::Deadline& deadline);

} // namespace rdmanet::attach
