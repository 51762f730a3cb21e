// Whether the owner of a lease still exists. The answer comes from a module that may examine the system.
#pragma once

#include <rdmanet/ipam/lease.hpp>

#include <cstdint>
#include <string>

namespace rdmanet::ipam {

enum class Liveness : std::uint8_t {
    alive,
    dead, // proven: the lease may be reclaimed
    unknown,
};

/// The answer for one owner. Only `dead` allows anyone to take something away.
struct Verdict {
    Liveness liveness = Liveness::unknown;
    /// For `unknown`: why nothing is proven, and what to do about it. The text fits after "because".
    std::string reason{};
    /// For `alive`: who still holds the network namespace after its path is gone, and what to do about it. Empty
    /// while the path leads to the namespace.
    std::string held_by{};

    friend bool operator==(const Verdict& verdict, Liveness expected) { return verdict.liveness == expected; }
};

class LivenessProbe {
public:
    LivenessProbe() = default;
    LivenessProbe(const LivenessProbe&) = delete;
    LivenessProbe& operator=(const LivenessProbe&) = delete;
    virtual ~LivenessProbe() = default;

    /// Answers `dead` only if no process and no name can reach the owner's network namespace any more.
    [[nodiscard]] virtual Verdict probe(const Owner& owner) = 0;
};

} // namespace rdmanet::ipam
