// Counts a program's system calls with strace.
#pragma once

#include "series.hpp"

#include <cstddef>

namespace rdmanet::test {

struct Calls {
    std::size_t all = 0;     // system calls of its processes and threads
    std::size_t netlink = 0; // messages to netlink sockets among them
};

/// The program under strace.
[[nodiscard]] Program traced(const Program& program);

/// The system calls of the last traced program. Forgets them.
[[nodiscard]] Calls read_calls();

} // namespace rdmanet::test
