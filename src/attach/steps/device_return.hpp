// How devices come back to the host.
#pragma once

#include "undo.hpp"

#include <rdmanet/base/bus_address.hpp>
#include <rdmanet/base/wait.hpp>
#include <rdmanet/kernel/link.hpp>
#include <rdmanet/kernel/netlink_socket.hpp>
#include <rdmanet/kernel/netns.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace rdmanet::attach {

/// Waits as long as the kernel may still return the device.
template <class Find>
auto wait_for_return(const Undo& undo, const Find& find) -> decltype(find()) {
    return base::wait_for(undo.call.deadline.at_most(undo.call.returned_by), find);
}

/// nullopt if the device no longer exists.
[[nodiscard]] std::optional<base::BusAddress> find_present_device(const std::string& device);

/// The commands for a person's shell that unbind and bind a driver.
[[nodiscard]] std::string unbind_command(const base::BusAddress& address);
[[nodiscard]] std::string bind_command(const base::BusAddress& address, const std::string& driver);

/// Whether the device can have a net device and an RDMA device. It has neither if somebody unbound its driver, or was
/// killed before binding it again.
[[nodiscard]] bool has_network_driver(const base::BusAddress& address);

/// A link that cannot have its pod's name on the host gets this name, followed by a number.
inline constexpr std::string_view kNameOnReturn = "rdmanet";

/// Takes the link down and moves it from the pod to the host. `name` is what the host called it before; empty if that
/// is not known. Returns its name there: `name`, or if that is taken the pod's, or another one if both are.
std::string move_to_host(const kernel::Link& link, const std::string& name, kernel::Socket& inside,
                         kernel::Socket& outside, const kernel::Netns& home);

/// Unbinds the driver, which ends the net and RDMA devices in whatever namespace the pod hid them. Only for a function
/// that will be reset, or whose driver will be bound again: it loses its driver anyway. Returns false if it must not
/// be unbound. Only the owner's own DEL or ADD may do this: if the record is stale, a living pod may have the device
/// now.
[[nodiscard]] bool end_by_unbinding(const base::BusAddress& address, const Undo& undo);

} // namespace rdmanet::attach
