#include "tcp.hpp"

#include <rdmanet/base/error.hpp>

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

namespace rdmanet::verify {

using base::SystemError;

base::UniqueFd open_tcp(const base::SocketAddress& address) {
    base::UniqueFd fd(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd) throw SystemError("open a TCP socket", errno);
    return fd;
}

bool is_ready(int fd, short events, const base::Deadline& deadline) {
    for (;;) {
        pollfd waiting{.fd = fd, .events = events, .revents = 0};
        const int ready = ::poll(&waiting, 1, static_cast<int>(deadline.remaining().count()));
        if (ready > 0) return true;
        if (ready < 0 && errno != EINTR) throw SystemError("wait for a TCP connection", errno);
        if (deadline.passed()) return false;
    }
}

int connect_tcp(int fd, const base::SocketAddress& address, const base::Deadline& deadline) {
    if (::connect(fd, address.get(), address.length()) == 0) return 0;
    if (errno != EINPROGRESS) return errno;
    if (!is_ready(fd, POLLOUT, deadline)) return ETIMEDOUT;
    int error = 0;
    socklen_t size = sizeof error;
    return ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

} // namespace rdmanet::verify
