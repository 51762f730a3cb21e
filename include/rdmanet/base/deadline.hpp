// A point in time at which waiting ends. Each call makes one deadline and hands it down, so that waits never add up.
#pragma once

#include <algorithm>
#include <chrono>

namespace rdmanet::base {

class Deadline {
public:
    using Clock = std::chrono::steady_clock;

    [[nodiscard]] static Deadline in(std::chrono::milliseconds duration) { return Deadline(Clock::now() + duration); }

    [[nodiscard]] std::chrono::milliseconds remaining() const {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(at_ - Clock::now());
        return std::max(left, std::chrono::milliseconds{0});
    }
    [[nodiscard]] bool passed() const { return Clock::now() >= at_; }

    /// The earlier of this deadline and the other, or `duration` from now.
    [[nodiscard]] Deadline at_most(const Deadline& other) const { return Deadline(std::min(at_, other.at_)); }
    [[nodiscard]] Deadline at_most(std::chrono::milliseconds duration) const { return at_most(in(duration)); }

private:
    explicit Deadline(Clock::time_point at) : at_(at) {}
    Clock::time_point at_;
};

} // namespace rdmanet::base
