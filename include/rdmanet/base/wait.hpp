// Waiting until a deadline. Three kinds of waits are elsewhere: several descriptors at once (poll(2) in http/dns.cpp
// and cni/child_process.cpp), a pause before a request to a server is repeated (http/pause.hpp, with jitter), and a
// plugin that is being installed, which is started a number of times (cni/delegate.cpp).
#pragma once

#include <rdmanet/base/deadline.hpp>

#include <algorithm>
#include <chrono>
#include <thread>

namespace rdmanet::base {

/// Between two looks: `first`, then twice as long each time, up to `longest`. Most states that the kernel reaches by
/// itself come within a few milliseconds. For one that takes longer, 20 ms more are nothing, and neither are 50 looks
/// a second.
struct Pauses {
    std::chrono::milliseconds first{1};
    std::chrono::milliseconds longest{20};
};

/// For states that nothing announces. Calls `find` at once, also if the deadline has passed, and again after each
/// pause until what it returns is true (a bool, an optional). The last pause ends at the deadline. Returns what
/// `find` returned last, so that the caller can explain in its own words what has not come.
template <class Find>
auto wait_for(const Deadline& deadline, const Find& find, const Pauses& pauses = {}) -> decltype(find()) {
    for (auto pause = pauses.first;; pause = std::min(2 * pause, pauses.longest)) {
        if (auto found = find(); found || deadline.passed()) return found;
        std::this_thread::sleep_for(std::min(pause, deadline.remaining()));
    }
}

/// Waits for `events` of poll(2) at one descriptor. False at the deadline. Looks once also if the deadline has
/// passed, so a loop around it looks at the deadline, too: the other side may always have something.
[[nodiscard]] bool wait_for_events(int fd, short events, const Deadline& deadline);

} // namespace rdmanet::base
