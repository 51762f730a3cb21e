// Waiting before a request is repeated.
#pragma once

#include <chrono>

namespace rdmanet::http {

/// Half of `longest` to all of it: those who were sent away together don't come back together.
[[nodiscard]] std::chrono::milliseconds with_jitter(std::chrono::milliseconds longest);

/// Anything up to `longest`: of many who want one thing, few come at a time.
[[nodiscard]] std::chrono::milliseconds any_part_of(std::chrono::milliseconds longest);

void pause(std::chrono::milliseconds duration);

} // namespace rdmanet::http
