// What a driver says about an Ethernet port's traffic classes, in the kernel's answer (linux/dcbnl.h, enum ieee_attrs).
#pragma once

#include "message.hpp"

#include <rdmanet/kernel/flow_control.hpp>

#include <optional>

namespace rdmanet::kernel {

/// Reads the attributes in DCB_ATTR_IEEE. nullopt if PFC is not among them. Leaves FlowControl::global_pause unset.
[[nodiscard]] std::optional<FlowControl> parse_ieee(const Attributes& ieee);

} // namespace rdmanet::kernel
