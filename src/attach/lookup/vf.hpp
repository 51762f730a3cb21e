// A VF with the settings that its PF reports.
#pragma once

#include <rdmanet/base/bus_address.hpp>
#include <rdmanet/kernel/device.hpp>
#include <rdmanet/kernel/link.hpp>
#include <rdmanet/kernel/netlink_socket.hpp>
#include <rdmanet/kernel/vf.hpp>

#include <optional>

namespace rdmanet::attach {

struct VfView {
    kernel::VfOf of;
    kernel::VfId id;
    kernel::Link pf;
    kernel::VfSettings present; // only what the driver reports
};

/// Throws CniError if the device is not a VF, or its PF cannot be asked.
[[nodiscard]] VfView view_vf(const base::BusAddress& address, kernel::Socket& route);

/// The VF's number and its PF's net device; nullopt if the host has no such net device.
[[nodiscard]] std::optional<kernel::VfId> find_vf_id(const kernel::VfOf& of, kernel::Socket& route);

} // namespace rdmanet::attach
