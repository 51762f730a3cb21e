// Finds the device that an attachment moves.
#pragma once

#include "findings.hpp"

#include "lookup/call.hpp"

#include <optional>
#include <string>

namespace rdmanet::attach {

[[nodiscard]] std::string to_string(const Movable& movable);

/// The device that the device plugin chose, or that the configuration names, or that has the interface of an earlier
/// plugin. Throws CniError if there is none.
[[nodiscard]] Movable find_movable(const Call& call);

/// The device that the configuration names; nullopt if the device plugin chooses. Throws CniError if it cannot move.
[[nodiscard]] std::optional<Movable> find_named_device(const Call& call);

} // namespace rdmanet::attach
