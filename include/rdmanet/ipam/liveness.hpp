// Whether the owner of a lease still exists: a question for someone who may look at the system.
#pragma once

#include <rdmanet/ipam/lease.hpp>

#include <cstdint>

namespace rdmanet::ipam {

enum class Liveness : std::uint8_t {
    alive,
    dead, // proven: the lease may be taken back
    unknown,
};

class LivenessProbe {
public:
    LivenessProbe() = default;
    LivenessProbe(const LivenessProbe&) = delete;
    LivenessProbe& operator=(const LivenessProbe&) = delete;
    virtual ~LivenessProbe() = default;

    /// Says `dead` only where no process and no name can reach the owner's network namespace any more.
    [[nodiscard]] virtual Liveness probe(const Owner& owner) = 0;
};

} // namespace rdmanet::ipam
