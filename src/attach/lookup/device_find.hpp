// Finds the device that an attachment moves.
#pragma once

#include "pod_side.hpp"

#include <rdmanet/base/bus_address.hpp>
#include <rdmanet/cni/request.hpp>
#include <rdmanet/config/config.hpp>
#include <rdmanet/kernel/link.hpp>

#include <functional>
#include <optional>
#include <string>
#include <variant>

namespace rdmanet::attach {

/// What moves into the pod: a bus device, or a virtual interface by its name on the host.
using Movable = std::variant<base::BusAddress, std::string>;

[[nodiscard]] std::string to_string(const Movable& movable);

/// Whether the interface has no hardware: veth, dummy, bridge and the like.
[[nodiscard]] bool is_virtual(const kernel::Link& link);

/// Finds in the journal a device that a pod has, or that returned with the pod's name, by its name or MAC on the
/// host.
using FindAttached = std::function<std::optional<Movable>(const config::HostDevice& wanted)>;

/// The device that the device plugin chose, or that the configuration names, or that has the interface of an earlier
/// plugin. Throws CniError if there is none.
[[nodiscard]] Movable find_movable(const cni::Request& request, const config::Config& config, PodSide& pod,
                                   const FindAttached& find_attached, const base::Deadline& deadline);

/// The device that the configuration names; nullopt if the device plugin chooses. Throws CniError if it cannot move.
[[nodiscard]] std::optional<Movable> find_named_device(const config::Config& config, const FindAttached& find_attached,
                                                       const base::Deadline& deadline);

} // namespace rdmanet::attach
