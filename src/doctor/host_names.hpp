// Names of interfaces and RDMA devices in the host's network namespace.
#pragma once

#include "context.hpp"

#include <rdmanet/kernel/link.hpp>

#include <string>

namespace rdmanet::doctor {

/// Whether a network may name it as its master: an interface, by any of its names, or an RDMA device. Throws
/// base::SystemError and kernel::NetlinkError.
[[nodiscard]] bool is_on_host(const Context& context, const std::string& name);

/// The interface of that name, or the one of that RDMA device; nullptr if there is none. Valid as long as the context.
/// Throws as above.
[[nodiscard]] const kernel::Link* find_parent_link(const Context& context, const std::string& master);

/// The RDMA devices of the host's PFs, eight at most, if `name` is one that a driver gives, and the node's udev
/// renames devices: "rocep1s0f0, rocep1s0f1". Empty otherwise. Reads rdma-core's rule
/// (kernel-boot/rdma-persistent-naming.rules).
[[nodiscard]] std::string names_instead_of(const Context& context, const std::string& name);

} // namespace rdmanet::doctor
