// Sets a VF through its PF, and restores its settings.
#pragma once

#include "step.hpp"

#include <rdmanet/base/bus_address.hpp>
#include <rdmanet/kernel/vf.hpp>

#include <array>
#include <string>
#include <string_view>

namespace rdmanet::attach {

/// Reads the VF's settings and compares them with the requested ones. Throws CniError if:
/// - the device is not a VF, or its PF cannot be asked
/// - the PF's MTU is below the configured one
/// - the link layer does not have a requested setting
[[nodiscard]] FoundVf find_vf(const base::BusAddress& address, const Call& call);

} // namespace rdmanet::attach
