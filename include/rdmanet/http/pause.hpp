// Waiting before a request is repeated, and for how long all of that took.
#pragma once

#include <chrono>
#include <string>

namespace rdmanet::http {

/// Half of `longest` to all of it: those who were sent away together don't come back together.
[[nodiscard]] std::chrono::milliseconds with_jitter(std::chrono::milliseconds longest);

/// Anything up to `longest`: of many who want one thing, few come at a time.
[[nodiscard]] std::chrono::milliseconds any_part_of(std::chrono::milliseconds longest);

/// `shortest` to one and a half of it: a server says the same time to all whom it sends away.
[[nodiscard]] std::chrono::milliseconds not_before(std::chrono::milliseconds shortest);

void pause(std::chrono::milliseconds duration);

/// For the text of a failure.
class Stopwatch {
public:
    /// Since it was made: "1.5 s", "12 ms".
    [[nodiscard]] std::string text() const;

private:
    std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
};

} // namespace rdmanet::http
