#include <rdmanet/base/wait.hpp>

#include <poll.h>

#include <climits>

namespace rdmanet::base {

bool wait_for_events(int fd, short events, const Deadline& deadline) {
    pollfd waiting{.fd = fd, .events = events, .revents = 0};
    do {
        const auto left = std::min<std::chrono::milliseconds::rep>(deadline.remaining().count(), INT_MAX);
        // Only a signal makes it fail: for one descriptor the kernel allocates nothing (do_sys_poll(), fs/select.c).
        if (::poll(&waiting, 1, static_cast<int>(left)) > 0) return true;
    } while (!deadline.passed());
    return false;
}

} // namespace rdmanet::base
