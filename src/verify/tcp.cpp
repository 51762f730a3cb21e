#include "tcp.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/wait.hpp>

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

namespace rdmanet::verify {

base::UniqueFd open_tcp(const base::SocketAddress& address) {
    base::UniqueFd fd(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd) throw base::SystemError("open a TCP socket", errno);
    return fd;
}

int connect_tcp(int fd, const base::SocketAddress& address, const base::Deadline& deadline) {
    if (::connect(fd, address.get(), address.length()) == 0) return 0;
    if (errno != EINPROGRESS) return errno;
    if (!base::wait_for_events(fd, POLLOUT, deadline)) return ETIMEDOUT;
    int error = 0;
    socklen_t size = sizeof error;
    return ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

} // namespace rdmanet::verify
