// Two attached pods for each kind of attachment that carries RDMA.
#pragma once

#include "rdma_programs.hpp"

#include <cstdint>
#include <functional>

namespace rdmanet::test {

enum class Carrier : std::uint8_t { macvlan, ipvlan, vf, subfunction, ipoib, infiniband_vf };

[[nodiscard]] inline bool is_infiniband(Carrier carrier) {
    return carrier == Carrier::ipoib || carrier == Carrier::infiniband_vf;
}

/// Attaches two pods, calls `use` with them, and detaches them. The node must then be as before. Skips the case if the
/// machine lacks the carrier.
void between_pods(Carrier carrier, const std::function<void(const RdmaEnd&, const RdmaEnd&)>& use);

} // namespace rdmanet::test
