// What ADD finds out before it changes anything, for all steps to be planned from.
#pragma once

#include "lookup/rdma_choice.hpp"

#include <rdmanet/base/bus_address.hpp>
#include <rdmanet/base/mac_address.hpp>
#include <rdmanet/kernel/device.hpp>
#include <rdmanet/kernel/link.hpp>
#include <rdmanet/kernel/rdma.hpp>
#include <rdmanet/kernel/vf.hpp>
#include <rdmanet/state/owed_names.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rdmanet::attach {

/// A child of a parent is to be made.
struct FoundParent {
    kernel::Link parent;
    std::optional<kernel::RdmaPort> rdma{}; // that its children share
    std::optional<base::MacAddress> mac{};  // absent: the kernel gives the parent's
};

/// A VF, and what its PF is to change of it.
struct FoundVf {
    kernel::VfOf of;
    kernel::VfId id;
    kernel::VfSettings before;  // as far as the driver tells
    kernel::VfSettings changes; // what is asked for and differs
};

/// The host's end of a VF whose PF is in switchdev mode.
struct FoundRepresentor {
    kernel::Link link;
    std::optional<unsigned> mtu{}; // bytes, before it is raised; absent: it stays
    bool was_down = false;         // and is to be up
    bool had_ipv6 = false;         // which is to be switched off before
};

/// How the driver has the function that is to be reset when it is back.
struct FoundReset {
    std::string driver;
    std::vector<std::string>
        rdma_names{}; // of its RDMA devices on the host, in the order in which the driver made them
};

/// A device of a bus is to move.
struct FoundDevice {
    base::BusAddress address;
    bool is_settled = false;                       // an earlier entry of the list did all that there is to do
    std::optional<FoundVf> vf{};                   // "sriov"
    std::optional<FoundRepresentor> representor{}; // of the VF, if its PF is in switchdev mode
    std::string rebind_to{};                       // InfiniBand: the driver, if it must be bound anew for a new GUID
    std::uint64_t node_guid = 0;                   // before that, of its RDMA device
    std::optional<FoundReset> reset{};             // if it is to be reset
    std::optional<kernel::Link> link{}; // none: an earlier plugin's, or the driver is one for user space, "vfio-pci"
    RdmaSelection selection{};          // of its RDMA devices: those that go into the pod, and the others
    std::vector<state::OwedName> owed_names{}; // what RDMA devices on the host should be called, and are not yet
    std::optional<kernel::RdmaPort> rdma{};    // of the device, if it stays on the host and pods share all of them
    bool awaits_port = false;                  // whether its RDMA port tells only when it is up in the pod

    [[nodiscard]] bool is_infiniband() const { return link && link->is_infiniband(); }
};

/// An interface of no bus is to move.
struct FoundInterface {
    kernel::Link link; // on the host
    std::optional<base::MacAddress> mac{};
};

/// One of the three.
struct Findings {
    std::optional<FoundParent> parent{};
    std::optional<FoundDevice> device{};
    std::optional<FoundInterface> interface {};

    /// Whether the pod gets an interface that this attachment sets up.
    [[nodiscard]] bool has_interface() const { return !device || device->link; }
    /// Of the RDMA device that stays on the host.
    [[nodiscard]] std::optional<kernel::RdmaPort> shared_port() const {
        if (parent) return parent->rdma;
        return device ? device->rdma : std::nullopt;
    }
};

} // namespace rdmanet::attach
