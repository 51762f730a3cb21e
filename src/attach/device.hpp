// Moving a VF into a pod: its settings in the PF, its net device, its RDMA device.
#pragma once

#include "session.hpp"

#include <rdmanet/attach/config.hpp>
#include <rdmanet/base/file_lock.hpp>
#include <rdmanet/base/pci_address.hpp>
#include <rdmanet/kernel/link.hpp>
#include <rdmanet/kernel/pci.hpp>
#include <rdmanet/kernel/rdma.hpp>
#include <rdmanet/kernel/vf.hpp>

#include <optional>
#include <vector>

namespace rdmanet::attach {

struct PodSide;

/// What was found out about a device that is to move.
struct DevicePlan {
    base::PciAddress address;
    kernel::VfOf of;
    kernel::VfId vf;
    kernel::VfSettings before;              // of the VF, as far as its driver tells
    kernel::VfSettings changes;             // what is asked for and differs
    std::optional<kernel::Link> link;       // none: the driver is one for user space, "vfio-pci"
    std::vector<kernel::RdmaDevice> moving; // RDMA devices that go into the pod
    std::optional<kernel::RdmaPort> rdma;   // of the device, if it stays on the host and pods share all of them
    std::optional<base::FileLock> claim;    // of the device, until the record is written
};

/// Reads the kernel, and undoes what a pod that is provably gone has left on the device. Throws CniError with the cure for
/// whatever would make the ADD fail later, among it that the device is another attachment's.
[[nodiscard]] DevicePlan plan_device(const cni::Request& request, const Config& config, const Session& session,
                                     PodSide& pod, const base::Deadline& deadline);

/// The device's steps as the journal describes them, in the order of doing.
[[nodiscard]] std::vector<state::Step> device_steps(const cni::Request& request, const DevicePlan& plan);

/// Does them: VF settings, net device, RDMA devices. Returns the link in the pod, which is down; none for a device with a
/// driver for user space.
[[nodiscard]] std::optional<kernel::Link> move_device(const cni::Request& request, const Config& config,
                                                      const DevicePlan& plan, const Session& session, PodSide& pod,
                                                      const base::Deadline& deadline);

/// What the pod or the configuration asks the VF to be.
[[nodiscard]] kernel::VfSettings wanted_settings(const cni::Request& request, const Config& config);

/// The VF by its PF's net device. Throws CniError if that isn't in the host's namespace.
[[nodiscard]] kernel::VfId find_vf_id(const base::PciAddress& address, const kernel::VfOf& of, kernel::Socket& route);

/// The MAC of a device without a net device, for the result: what its PF decides; empty if that is nothing.
[[nodiscard]] std::string mac_without_link(const DevicePlan& plan);

/// Drivers that leave a device to programs in user space and make no net device of it.
[[nodiscard]] bool is_user_space_driver(std::string_view driver);

} // namespace rdmanet::attach
