// The choices of a schedule, which its seed makes again.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rdmanet::model {

/// splitmix64
class Random {
public:
    explicit Random(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15) {}
    std::size_t below(std::size_t limit) {
        std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
        z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27U)) * 0x94d049bb133111eb;
        return (z ^ (z >> 31U)) % limit;
    }
    bool one_of(std::size_t many) { return below(many) == 0; }

private:
    std::uint64_t state_;
};

} // namespace rdmanet::model
