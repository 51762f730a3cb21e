#include "answer.hpp"

#include <cerrno>

namespace rdmanet::kernel {
namespace {

/// The text of an extended acknowledgement. Its TLVs follow the error and, unless it was capped, the copy of the
/// request (linux/netlink.h, nlmsgerr_attrs).
std::string kernel_message_of(const nlmsghdr& message, std::size_t skip) {
    const Bytes payload = payload_of(message);
    if ((message.nlmsg_flags & NLM_F_ACK_TLVS) == 0 || payload.size() < skip) return {};
    return Attributes(payload.subspan(skip)).text(NLMSGERR_ATTR_MSG);
}

} // namespace

Answer parse_error(const nlmsghdr& message) {
    const Bytes payload = payload_of(message);
    if (payload.size() < sizeof(nlmsgerr)) return {.errno_value = EBADMSG, .kernel_message = {}};
    nlmsgerr error{};
    __builtin_memcpy(&error, payload.data(), sizeof error);
    const bool capped = (message.nlmsg_flags & NLM_F_CAPPED) != 0 || error.error == 0;
    const std::size_t copied = capped ? 0 : NLMSG_ALIGN(error.msg.nlmsg_len) - sizeof(nlmsghdr);
    return {.errno_value = -error.error, .kernel_message = kernel_message_of(message, sizeof error + copied)};
}

Answer parse_done(const nlmsghdr& message) {
    const Bytes payload = payload_of(message);
    int error = 0;
    if (payload.size() >= sizeof error) __builtin_memcpy(&error, payload.data(), sizeof error);
    return {.errno_value = error < 0 ? -error : 0, .kernel_message = kernel_message_of(message, sizeof error)};
}

} // namespace rdmanet::kernel
