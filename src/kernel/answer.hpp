// The content of a datagram from the kernel: messages, and the final answer to a request.
#pragma once

#include "message.hpp"

#include <rdmanet/kernel/netlink_socket.hpp>

#include <algorithm>
#include <cstdint>

namespace rdmanet::kernel {

/// From an NLMSG_ERROR message: a refusal, or an acknowledgement (error 0).
[[nodiscard]] Answer parse_error(const nlmsghdr& message);
/// From an NLMSG_DONE message, the end of a dump.
[[nodiscard]] Answer parse_done(const nlmsghdr& message);

/// Calls `visit` for each whole message in `bytes` that belongs to request `sequence`. An earlier request that
/// reached its deadline may have left answers behind.
template <class Visit>
void for_each_message(Bytes bytes, std::uint32_t sequence, Visit&& visit) {
    while (bytes.size() >= sizeof(nlmsghdr)) {
        const auto& message = *reinterpret_cast<const nlmsghdr*>(bytes.data());
        if (message.nlmsg_len < sizeof(nlmsghdr) || message.nlmsg_len > bytes.size()) return;
        if (message.nlmsg_seq == sequence) visit(message);
        bytes = bytes.subspan(std::min<std::size_t>(NLMSG_ALIGN(message.nlmsg_len), bytes.size()));
    }
}

} // namespace rdmanet::kernel
