// Finds the device that an attachment moves.
#pragma once

#include "lookup/pod_side.hpp"

#include <rdmanet/base/bus_address.hpp>
#include <rdmanet/cni/request.hpp>
#include <rdmanet/config/config.hpp>
#include <rdmanet/state/attachment_store.hpp>

#include <optional>
#include <string>
#include <variant>

namespace rdmanet::attach {

/// What moves into the pod: a bus device, or a virtual interface by its name on the host.
using Movable = std::variant<base::BusAddress, std::string>;

[[nodiscard]] std::string to_string(const Movable& movable);

/// The device that the device plugin chose, or that the configuration names, or that has the interface of an earlier
/// plugin. Throws CniError if there is none.
[[nodiscard]] Movable find_movable(const Call& call);

/// The device that the configuration names; nullopt if the device plugin chooses. Throws CniError if it cannot move.
[[nodiscard]] std::optional<Movable> find_named_device(const Call& call);

} // namespace rdmanet::attach
