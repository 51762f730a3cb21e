// Dumps: complete lists from the kernel.
#pragma once

#include "message.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/kernel/netlink_socket.hpp>

#include <cerrno>
#include <string_view>
#include <vector>

namespace rdmanet::kernel {

constexpr int kMostDumps = 5;

/// A consistent list. For each message, `parse(message, list)` appends what it wants. If the kernel marks a dump as
/// interrupted by a change, the dump is repeated. After kMostDumps dumps NetlinkError (EAGAIN) is thrown.
template <class T, class Parse>
[[nodiscard]] std::vector<T> list(Socket& socket, Message& request, std::string_view operation, const Parse& parse) {
    for (int dumps = 0; dumps < kMostDumps; ++dumps) {
        std::vector<T> found;
        if (socket.dump(request, operation, [&](const nlmsghdr& message) { parse(message, found); })) return found;
    }
    throw NetlinkError(fmt::format("{}, which changed during each of {} readings", operation, kMostDumps), EAGAIN, {});
}

} // namespace rdmanet::kernel
