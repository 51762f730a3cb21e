#include "socket.hpp"

#include "dns.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/base/wait.hpp>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdint>

namespace rdmanet::http {
namespace {

constexpr std::string_view kNoAnswer = "no answer";

/// By the other side.
bool has_ended(int errno_value) {
    return errno_value == ECONNRESET || errno_value == EPIPE;
}

base::UniqueFd open_socket(const base::SocketAddress& address, int type) {
    return base::UniqueFd(::socket(address.family(), type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

/// Empty if it is connected, else why not.
std::string try_to_connect(int fd, const base::SocketAddress& address, const base::Deadline& deadline) {
    if (::connect(fd, address.get(), address.length()) == 0) return {};
    if (errno != EINPROGRESS) return base::errno_text(errno);
    if (!base::wait_for_events(fd, POLLOUT, deadline)) return std::string(kNoAnswer);
    int error = 0;
    socklen_t size = sizeof error;
    if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
    return error == 0 ? std::string() : base::errno_text(error);
}

} // namespace

Socket Socket::connect_to(const base::SocketAddress& to, const base::Deadline& deadline) {
    base::UniqueFd fd = open_socket(to, SOCK_STREAM);
    if (!fd) throw Failure{Stage::tcp, fmt::format("socket: {}", base::errno_text(errno))};
    const std::string why = try_to_connect(fd.get(), to, deadline);
    if (!why.empty())
        throw Failure{Stage::tcp, fmt::format("connecting: {}", why), why == kNoAnswer ? Cause::silence : Cause::other};
    const int on = 1; // a request is written whole: there is nothing to collect
    (void)::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return Socket(std::move(fd));
}

Socket Socket::connect(const base::Url& url, const base::Deadline& deadline) {
    const auto port = base::parse_integer<std::uint16_t>(url.port).value();
    const std::vector<base::IpAddress> addresses = resolve(url.host, deadline);
    for (std::size_t at = 0; at + 1 < addresses.size(); ++at) {
        try {
            return connect_to({addresses[at], port}, deadline.at_most(deadline.remaining() / (addresses.size() - at)));
        } catch (const Failure&) { // the next one may answer
        }
    }
    return connect_to({addresses.back(), port}, deadline);
}

base::UniqueFd connect_datagrams(const base::SocketAddress& to) {
    base::UniqueFd fd = open_socket(to, SOCK_DGRAM);
    if (fd && ::connect(fd.get(), to.get(), to.length()) != 0) fd.reset();
    return fd;
}

void Socket::write_all(std::string_view bytes, const base::Deadline& deadline) {
    const std::size_t all = bytes.size();
    while (!bytes.empty()) {
        const ssize_t written = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (written >= 0) {
            bytes.remove_prefix(static_cast<std::size_t>(written));
            continue;
        }
        if (errno == EINTR) continue;
        const Cause cause = !has_ended(errno) ? Cause::other : bytes.size() == all ? Cause::end_unsent : Cause::end;
        if (errno != EAGAIN) throw Failure{stage_, fmt::format("sending: {}", base::errno_text(errno)), cause};
        if (!base::wait_for_events(fd_.get(), POLLOUT, deadline))
            throw Failure{stage_, std::string(kNoAnswer), Cause::silence};
    }
}

std::size_t Socket::read_some(std::span<char> buffer, const base::Deadline& deadline) {
    for (;;) {
        const ssize_t count = ::recv(fd_.get(), buffer.data(), buffer.size(), 0);
        if (count >= 0) return static_cast<std::size_t>(count);
        if (errno == EINTR) continue;
        if (errno != EAGAIN)
            throw Failure{stage_, fmt::format("receiving: {}", base::errno_text(errno)),
                          has_ended(errno) ? Cause::end : Cause::other};
        if (!base::wait_for_events(fd_.get(), POLLIN, deadline))
            throw Failure{stage_, std::string(kNoAnswer), Cause::silence};
    }
}

} // namespace rdmanet::http
