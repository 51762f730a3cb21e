// Names of interfaces and RDMA devices in the host's network namespace.
#pragma once

#include "context.hpp"

#include <string>

namespace rdmanet::doctor {

/// Whether a network may name it as its master: an interface, by any of its names, or an RDMA device. Throws
/// base::SystemError and kernel::NetlinkError.
[[nodiscard]] bool is_on_host(const Context& context, const std::string& name);

} // namespace rdmanet::doctor
