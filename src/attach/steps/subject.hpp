// What an attachment is about: a device that moves, an interface of no bus that moves, or a parent that gets a child.
// The steps find out the rest.
#pragma once

#include "findings.hpp"
#include "step.hpp"

#include "lookup/device_find.hpp"

#include <optional>

namespace rdmanet::attach {

/// `moving`: what moves, if anything does. Reads the kernel and changes nothing. Throws CniError with the cure if it
/// cannot be taken: it is not there, the node or another attachment needs it.
[[nodiscard]] Findings find_subject(const PlanContext& context, const std::optional<Movable>& moving);

} // namespace rdmanet::attach
