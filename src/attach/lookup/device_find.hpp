// Which device is meant.
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

/// What moves: a device of a bus, or an interface that none has, by its name on the host.
using Movable = std::variant<base::BusAddress, std::string>;

[[nodiscard]] std::string to_string(const Movable& movable);

/// An interface that the kernel made for nobody's hardware.
[[nodiscard]] bool is_virtual(const kernel::Link& link);

/// What a pod has, or what came back from one under the pod's name for it, by what it was on the host. The journal
/// knows.
using FindAttached = std::function<std::optional<Movable>(const config::HostDevice& wanted)>;

/// Which device: the one that the device plugin chose, or the configuration describes, or that an earlier plugin's
/// interface is of. Throws CniError if that is none.
[[nodiscard]] Movable find_movable(const cni::Request& request, const config::Config& config, PodSide& pod,
                                   const FindAttached& find_attached, const base::Deadline& deadline);

/// The one that the configuration names. nullopt if it leaves that to the device plugin. Throws CniError if it is none.
[[nodiscard]] std::optional<Movable> find_named_device(const config::Config& config, const FindAttached& find_attached,
                                                       const base::Deadline& deadline);

} // namespace rdmanet::attach
