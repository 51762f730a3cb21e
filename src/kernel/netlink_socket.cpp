#include <rdmanet/kernel/netlink_socket.hpp>

#include "message.hpp"
#include "parse.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/wait.hpp>

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

namespace rdmanet::kernel {
namespace {

using base::SystemError;
using base::UniqueFd;

// The kernel makes dump batches of up to 32 KiB when the reader has room for them (net/netlink/af_netlink.c,
// netlink_recvmsg); single answers are smaller, except with VF information.
constexpr std::size_t kBufferBytes = 65536;

void throw_if_refused(const Answer& answer, std::string_view operation) {
    if (answer.errno_value != 0) throw NetlinkError(operation, answer.errno_value, answer.kernel_message);
}

/// The text of an extended acknowledgement. Its TLVs follow the error and, unless it was capped, the copy of the
/// request (linux/netlink.h, nlmsgerr_attrs).
std::string kernel_message_of(const nlmsghdr& message, Bytes payload, std::size_t skip) {
    if ((message.nlmsg_flags & NLM_F_ACK_TLVS) == 0 || payload.size() < skip) return {};
    return Attributes(payload.subspan(skip)).text(NLMSGERR_ATTR_MSG);
}

} // namespace

std::vector<const nlmsghdr*> messages_in(Bytes datagram, std::uint32_t sequence) {
    std::vector<const nlmsghdr*> found;
    while (datagram.size() >= sizeof(nlmsghdr)) {
        const auto& message = *reinterpret_cast<const nlmsghdr*>(datagram.data());
        if (message.nlmsg_len < sizeof(nlmsghdr) || message.nlmsg_len > datagram.size()) break;
        if (message.nlmsg_seq == sequence) found.push_back(&message);
        datagram = datagram.subspan(std::min<std::size_t>(NLMSG_ALIGN(message.nlmsg_len), datagram.size()));
    }
    return found;
}

Answer parse_error(const nlmsghdr& message) {
    const Bytes payload = payload_of(message);
    if (payload.size() < sizeof(nlmsgerr)) return {.errno_value = EBADMSG, .kernel_message = {}};
    nlmsgerr error{};
    __builtin_memcpy(&error, payload.data(), sizeof error);
    const bool capped = (message.nlmsg_flags & NLM_F_CAPPED) != 0 || error.error == 0;
    const std::size_t copied = capped ? 0 : NLMSG_ALIGN(error.msg.nlmsg_len) - sizeof(nlmsghdr);
    return {.errno_value = -error.error, .kernel_message = kernel_message_of(message, payload, sizeof error + copied)};
}

Answer parse_done(const nlmsghdr& message) {
    const Bytes payload = payload_of(message);
    int error = 0;
    if (payload.size() >= sizeof error) __builtin_memcpy(&error, payload.data(), sizeof error);
    return {.errno_value = error < 0 ? -error : 0, .kernel_message = kernel_message_of(message, payload, sizeof error)};
}

NetlinkError::NetlinkError(std::string_view operation, int errno_value, std::string kernel_message)
    : SystemError(operation, errno_value), kernel_message_(std::move(kernel_message)) {}

const char* NetlinkError::what() const noexcept try {
    if (kernel_message_.empty()) return SystemError::what();
    text_ = fmt::format("{} (kernel: {})", SystemError::what(), kernel_message_);
    return text_.c_str();
} catch (...) {
    return SystemError::what();
}

Socket::Socket(UniqueFd fd, const base::Deadline& deadline)
    : fd_(std::move(fd)), deadline_(deadline), buffer_(std::make_unique_for_overwrite<unsigned char[]>(kBufferBytes)) {}

std::optional<UniqueFd> Socket::open_fd(Protocol protocol) {
    UniqueFd fd(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, static_cast<int>(protocol)));
    if (!fd && errno == EPROTONOSUPPORT) return std::nullopt;
    if (!fd) throw SystemError("open netlink socket", errno);
    const int on = 1;
    // Kernels before 4.12 do not know the option and send no texts.
    (void)::setsockopt(fd.get(), SOL_NETLINK, NETLINK_EXT_ACK, &on, sizeof on);
    return fd;
}

Socket Socket::open(Protocol protocol, const base::Deadline& deadline) {
    auto fd = open_fd(protocol);
    if (!fd) throw SystemError("open netlink socket", EPROTONOSUPPORT);
    return {*std::move(fd), deadline};
}

Socket Socket::open_in(const Netns& netns, Protocol protocol, const base::Deadline& deadline) {
    const NetnsScope scope(netns);
    return open(protocol, deadline);
}

std::optional<Socket> Socket::find_rdma(const base::Deadline& deadline) {
    auto fd = open_fd(Protocol::rdma);
    if (!fd) return std::nullopt;
    return Socket(*std::move(fd), deadline);
}

std::optional<Socket> Socket::find_rdma_in(const Netns& netns, const base::Deadline& deadline) {
    const NetnsScope scope(netns);
    return find_rdma(deadline);
}

Answer Socket::ask(Message& request) {
    send(request);
    std::vector<const nlmsghdr*> messages;
    while (messages.empty()) messages = messages_in({buffer_.get(), receive()}, sequence_);
    const nlmsghdr& first = *messages.front();
    if (first.nlmsg_type == NLMSG_ERROR) return parse_error(first);
    return {.kernel_message = {}, .message = &first};
}

void Socket::execute(Message& request, std::string_view operation) {
    request.header().nlmsg_flags |= NLM_F_ACK;
    throw_if_refused(ask(request), operation);
}

bool Socket::dump(Message& request, std::string_view operation, const std::function<void(const nlmsghdr&)>& visit) {
    request.header().nlmsg_flags |= NLM_F_DUMP;
    send(request);
    std::optional<Answer> end;
    bool consistent = true;
    while (!end)
        for (const nlmsghdr* message : messages_in({buffer_.get(), receive()}, sequence_)) {
            if ((message->nlmsg_flags & NLM_F_DUMP_INTR) != 0) consistent = false;
            if (message->nlmsg_type == NLMSG_ERROR)
                end = parse_error(*message);
            else if (message->nlmsg_type == NLMSG_DONE)
                end = parse_done(*message);
            else
                visit(*message);
        }
    throw_if_refused(*end, operation);
    return consistent;
}

void Socket::demand_strict_checks() {
    if (strict_) return;
    const int on = 1;
    // Without the option, dumps hold more than requested. Every reader of a dump filters again.
    (void)::setsockopt(fd_.get(), SOL_NETLINK, NETLINK_GET_STRICT_CHK, &on, sizeof on);
    strict_ = true;
}

void Socket::send(Message& request) {
    nlmsghdr& header = request.header();
    header.nlmsg_seq = ++sequence_;
    for (;;) {
        if (::send(fd_.get(), &header, header.nlmsg_len, 0) >= 0) return;
        if (errno != EINTR) throw SystemError("send netlink request", errno);
    }
}

/// Receives one datagram from the kernel. Other processes may also write to this socket's port: only port 0 is the
/// kernel.
std::size_t Socket::receive() {
    for (;;) {
        sockaddr_nl from{};
        socklen_t from_length = sizeof from;
        const ssize_t count = ::recvfrom(fd_.get(), buffer_.get(), kBufferBytes, MSG_DONTWAIT | MSG_TRUNC,
                                         reinterpret_cast<sockaddr*>(&from), &from_length);
        if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
            wait_readable();
            continue;
        }
        if (count < 0) throw SystemError("receive netlink answer", errno);
        if (static_cast<std::size_t>(count) > kBufferBytes) throw SystemError("receive netlink answer", EMSGSIZE);
        if (from.nl_pid == 0) return static_cast<std::size_t>(count);
    }
}

void Socket::wait_readable() {
    if (!base::wait_for_events(fd_.get(), POLLIN, deadline_))
        throw base::TimeoutError("wait for the kernel's answer to a netlink request: deadline passed");
}

} // namespace rdmanet::kernel
