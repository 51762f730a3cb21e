#include <rdmanet/base/wait.hpp>

#include <rdmanet/base/error.hpp>

#include <poll.h>

#include <cerrno>

namespace rdmanet::base {

bool wait_for_events(int fd, short events, const Deadline& deadline) {
    pollfd waiting{.fd = fd, .events = events, .revents = 0};
    for (;;) {
        const int ready = ::poll(&waiting, 1, static_cast<int>(deadline.remaining().count()));
        if (ready > 0) return true;
        if (ready < 0 && errno != EINTR) throw SystemError("wait for a descriptor", errno);
        if (deadline.passed()) return false;
    }
}

} // namespace rdmanet::base
