// What ADD finds out before it changes anything. The steps are planned from it.
#pragma once

#include "lookup/rdma_choice.hpp"

#include <rdmanet/base/bus_address.hpp>
#include <rdmanet/base/mac_address.hpp>
#include <rdmanet/kernel/device.hpp>
#include <rdmanet/kernel/link.hpp>
#include <rdmanet/kernel/rdma.hpp>
#include <rdmanet/kernel/vf.hpp>
#include <rdmanet/state/waiting_names.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace rdmanet::attach {

/// What moves into the pod: a bus device, or a virtual interface by its name on the host.
using Movable = std::variant<base::BusAddress, std::string>;

/// For a child of a parent.
struct FoundParent {
    kernel::Link parent;
    std::optional<kernel::RdmaPort> rdma{}; // shared by all its children
    std::optional<base::MacAddress> mac{};  // of the child; absent: the kernel chooses
};

/// A VF, and the settings that its PF must change.
struct FoundVf {
    kernel::VfOf of;
    kernel::VfId id;
    kernel::Link pf;
    kernel::VfSettings before;  // as far as the driver reports them
    kernel::VfSettings changes; // what the network asks for and is not yet set
};

/// The host's end of a VF whose PF is in switchdev mode.
struct FoundRepresentor {
    kernel::Link link;
    std::optional<unsigned> mtu{}; // bytes, before ADD raises it; absent: ADD does not change it
    bool was_down = false;         // ADD brings it up
    bool had_ipv6 = false;         // ADD disables IPv6 before it brings it up
};

/// For a function that will be reset after the pod: its driver, and the names of its RDMA devices.
struct FoundReset {
    std::string driver;
    std::vector<std::string>
        rdma_names{}; // of its RDMA devices on the host, in the order in which the driver made them
};

/// For a bus device that moves.
struct FoundDevice {
    base::BusAddress address;
    bool is_settled = false;                       // an earlier entry of the list has done everything
    std::optional<FoundVf> vf{};                   // "sriov"
    std::optional<FoundRepresentor> representor{}; // of the VF, if its PF is in switchdev mode
    std::string rebind_to{};                       // InfiniBand: the driver, if it must be bound anew for a new GUID
    std::uint64_t node_guid = 0;                   // before that, of its RDMA device
    std::optional<FoundReset> reset{};             // if it is to be reset
    std::optional<kernel::Link> link{}; // none: an earlier plugin's, or the driver is one for user space, "vfio-pci"
    RdmaDevices rdma_on_host{};         // every one of the node
    RdmaSelection selection{};          // of its RDMA devices: those that go into the pod, and the others
    std::vector<state::WaitingName> waiting_names{}; // what RDMA devices on the host should be called, and are not yet
    std::optional<kernel::RdmaPort> rdma{}; // of the device, if it stays on the host and pods share all of them
    bool awaits_port = false;               // whether its RDMA port tells only when it is up in the pod

    [[nodiscard]] bool is_infiniband() const { return link && link->is_infiniband(); }
};

/// For a virtual interface that moves.
struct FoundInterface {
    kernel::Link link; // on the host
    std::optional<base::MacAddress> mac{};
};

/// Exactly one of parent, device and interface is set.
struct Findings {
    std::optional<Movable> moving{};             // the device or interface that moves, if one does
    const kernel::Link* locked_parent = nullptr; // if ADD has locked one

    std::optional<FoundParent> parent{};
    std::optional<FoundDevice> device{};
    std::optional<FoundInterface> interface {};

    /// Whether an earlier entry of the list has done everything.
    [[nodiscard]] bool is_settled() const { return device && device->is_settled; }
    /// Whether the pod gets an interface that this attachment sets up.
    [[nodiscard]] bool has_interface() const { return !device || device->link; }
    /// The port of the RDMA device that stays on the host.
    [[nodiscard]] std::optional<kernel::RdmaPort> shared_port() const {
        if (parent) return parent->rdma;
        return device ? device->rdma : std::nullopt;
    }
};

} // namespace rdmanet::attach
