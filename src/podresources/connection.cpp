#include "connection.hpp"

#include <rdmanet/podresources/client.hpp>

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/wait.hpp>

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>

namespace rdmanet::podresources {
namespace {

base::UniqueFd connect_to(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path)
        throw CallError(fmt::format("the path has {} bytes, and a socket's has {} at most", path.size(),
                                    sizeof address.sun_path - 1));
    std::memcpy(address.sun_path, path.data(), path.size());
    base::UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    // A socket of this family connects at once, or its queue is full: EAGAIN (unix_stream_connect(),
    // net/unix/af_unix.c).
    if (!fd || ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
        throw CallError(base::errno_text(errno));
    return fd;
}

} // namespace

Connection::Connection(const std::string& path, const base::Deadline& deadline)
    : fd_(connect_to(path)), deadline_(deadline) {}

void Connection::send(std::span<const std::uint8_t> bytes) const {
    while (!bytes.empty()) {
        wait_for(POLLOUT);
        const ssize_t count = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (count >= 0) bytes = bytes.subspan(static_cast<std::size_t>(count));
        if (count < 0 && errno != EAGAIN && errno != EINTR) throw CallError(base::errno_text(errno));
    }
}

std::size_t Connection::receive(std::span<std::uint8_t> buffer) const {
    for (;;) {
        wait_for(POLLIN);
        const ssize_t count = ::recv(fd_.get(), buffer.data(), buffer.size(), 0);
        if (count >= 0) return static_cast<std::size_t>(count);
        if (errno != EAGAIN && errno != EINTR) throw CallError(base::errno_text(errno));
    }
}

void Connection::wait_for(short events) const {
    // A peer that always has something to read must not prolong the call.
    if (deadline_.passed() || !base::wait_for_events(fd_.get(), events, deadline_))
        throw CallError("no answer in time");
}

} // namespace rdmanet::podresources
