// A VF as its PF administers it.
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
    kernel::VfSettings present; // as far as the driver tells
};

/// Throws CniError for what is no VF, or has a PF that can't be asked.
[[nodiscard]] VfView view_vf(const base::BusAddress& address, kernel::Socket& route);

/// The VF by its PF's net device; nullopt if that isn't in the host's namespace.
[[nodiscard]] std::optional<kernel::VfId> find_vf_id(const kernel::VfOf& of, kernel::Socket& route);

} // namespace rdmanet::attach
