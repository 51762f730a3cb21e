// Finds what the attachment is made of: a device that moves, a virtual interface that moves, or a parent that gets a
// child. The steps find out the rest.
#pragma once

#include "device_find.hpp"
#include "step.hpp"

#include <optional>

namespace rdmanet::attach {

/// `moving` is the device or interface that moves, if there is one. Reads the kernel and changes nothing. Throws
/// CniError with the fix if it does not exist, or if the node or another attachment needs it.
[[nodiscard]] Findings find_subject(const Call& call, const std::optional<Movable>& moving,
                                    const kernel::Link* locked_parent);

} // namespace rdmanet::attach
