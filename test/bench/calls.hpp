// What a program asks of the kernel, counted by strace.
#pragma once

#include "series.hpp"

#include <cstddef>

namespace rdmanet::test {

struct Calls {
    std::size_t all = 0;     // system calls of its processes and threads
    std::size_t netlink = 0; // messages among them that went into a netlink socket
};

/// `program` under strace.
[[nodiscard]] Program traced(const Program& program);

/// What the last such program did. Forgets it.
[[nodiscard]] Calls read_calls();

} // namespace rdmanet::test
