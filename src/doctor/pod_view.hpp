// The pod that was asked for: its interfaces and processes.
#pragma once

#include "context.hpp"

#include <rdmanet/kernel/netlink_socket.hpp>

#include <string>
#include <vector>

namespace rdmanet::doctor {

[[nodiscard]] inline const inventory::Namespace& pod_of(const Context& context) {
    return context.inventory.namespaces[*context.pod];
}

/// "shop/till net1"
[[nodiscard]] std::string subject_of_interface(const Context& context, const inventory::Interface& interface);

/// Calls `visit` with each interface of the pod and its subject.
template <class Visit>
void for_each_interface(const Context& context, const Visit& visit) {
    for (const inventory::Interface& interface : context.inventory.interfaces)
        if (interface.net.place == *context.pod) visit(interface, subject_of_interface(context, interface));
}

/// The processes in the pod's network namespace, as in processes.hpp. The pause container's is one of them.
[[nodiscard]] std::vector<std::string> processes_of(const Context& context);

/// A socket for routes in the pod's namespace. It waits for one second at most. Throws base::SystemError, or
/// kernel::NotANetnsError.
[[nodiscard]] kernel::Socket open_in_pod(const Context& context);

} // namespace rdmanet::doctor
