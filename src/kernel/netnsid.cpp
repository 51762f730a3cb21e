#include "message.hpp"

#include <rdmanet/kernel/link.hpp>

#include <linux/net_namespace.h>
#include <linux/rtnetlink.h>

#include <sys/socket.h>

namespace rdmanet::kernel {

std::optional<int> find_netnsid(Socket& socket, const Netns& other) {
    Message request(RTM_GETNSID, 0, rtgenmsg{.rtgen_family = AF_UNSPEC});
    request.put_u32(NETNSA_FD, static_cast<std::uint32_t>(other.fd()));
    const Answer answer = socket.ask(request);
    if (answer.errno_value != 0)
        throw NetlinkError("look up the number of a network namespace", answer.errno_value, answer.kernel_message);
    const auto parsed =
        answer.message == nullptr ? std::nullopt : parse_message<rtgenmsg>(*answer.message, RTM_NEWNSID);
    const auto number = parsed ? parsed->second.find_i32(NETNSA_NSID) : std::nullopt;
    return number && *number >= 0 ? number : std::nullopt; // NETNSA_NSID_NOT_ASSIGNED is -1
}

} // namespace rdmanet::kernel
