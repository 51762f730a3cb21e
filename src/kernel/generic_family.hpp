// Families of generic netlink, which the kernel numbers when it loads them (linux/genetlink.h).
#pragma once

#include <rdmanet/kernel/netlink_socket.hpp>

#include <optional>
#include <string_view>

namespace rdmanet::kernel {

/// The family's number; nullopt if the kernel has not loaded it. Reads the list of all families: a question for one
/// by its name would load its module (ctrl_getfamily(), net/netlink/genetlink.c). `generic` has Protocol::generic.
/// Throws NetlinkError.
[[nodiscard]] std::optional<int> find_loaded_family(Socket& generic, std::string_view name);

} // namespace rdmanet::kernel
