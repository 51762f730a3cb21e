// Whether the owner of a lease still exists: a question for someone who may look at the system.
#pragma once

#include <rdmanet/ipam/lease.hpp>

#include <cstdint>
#include <string>

namespace rdmanet::ipam {

enum class Liveness : std::uint8_t {
    alive,
    dead, // proven: the lease may be taken back
    unknown,
};

/// The answer for one owner. Only `dead` lets anybody take something away.
struct Verdict {
    Liveness liveness = Liveness::unknown;
    /// Of `unknown`, for a person: why nothing is proven, and what to do about it. Fits behind "because".
    std::string reason{};
    /// Of `alive`, for a person: who still holds the network namespace after its path is gone, and what to do about it.
    /// Empty while the path leads there.
    std::string held_by{};

    friend bool operator==(const Verdict& verdict, Liveness expected) { return verdict.liveness == expected; }
};

class LivenessProbe {
public:
    LivenessProbe() = default;
    LivenessProbe(const LivenessProbe&) = delete;
    LivenessProbe& operator=(const LivenessProbe&) = delete;
    virtual ~LivenessProbe() = default;

    /// Says `dead` only where no process and no name can reach the owner's network namespace any more.
    [[nodiscard]] virtual Verdict probe(const Owner& owner) = 0;
};

} // namespace rdmanet::ipam
