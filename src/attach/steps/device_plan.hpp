// What was found out about a device that is to move, before anything is changed.
#pragma once

#include "lookup/rdma_choice.hpp"

#include <rdmanet/base/bus_address.hpp>
#include <rdmanet/base/file_lock.hpp>
#include <rdmanet/kernel/device.hpp>
#include <rdmanet/kernel/link.hpp>
#include <rdmanet/kernel/rdma.hpp>
#include <rdmanet/kernel/vf.hpp>
#include <rdmanet/state/owed_names.hpp>
#include <rdmanet/state/step.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rdmanet::attach {

/// What its PF is to change of a VF.
struct VfPlan {
    kernel::VfOf of;
    kernel::VfId id;
    kernel::VfSettings before;  // as far as the driver tells
    kernel::VfSettings changes; // what is asked for and differs
};

/// The host's end of a VF whose PF is in switchdev mode.
struct RepresentorPlan {
    kernel::Link link;            // once set up, as it is then
    state::SetRepresentor before; // what is to change, as it was
};

/// What was found out about a device that is to move.
struct DevicePlan {
    base::BusAddress address;
    std::optional<VfPlan> vf{};                   // "sriov"
    std::optional<RepresentorPlan> representor{}; // of the VF, if its PF is in switchdev mode
    std::string rebind_to{};                      // InfiniBand: the driver, if it must be bound anew to take a new GUID
    std::uint64_t node_guid = 0;                  // before that, of its RDMA device
    std::optional<state::ResetFunction> reset{};  // what DEL is to do, if it is to be reset
    std::optional<kernel::Link> link{}; // none: an earlier plugin's, or the driver is one for user space, "vfio-pci"
    RdmaSelection selection{};          // of its RDMA devices: those that go into the pod, and the others
    std::vector<state::OwedName> owed_names{}; // what RDMA devices on the host should be called, and are not yet
    std::optional<kernel::RdmaPort> rdma{};    // of the device, if it stays on the host and pods share all of them
    bool awaits_port = false;                  // whether its RDMA port tells only when it is up in the pod
    std::optional<base::FileLock> claim{};     // of the device, until the record is written

    [[nodiscard]] bool is_infiniband() const;
};

} // namespace rdmanet::attach
