// The name that drivers give a net device among the ports of its switch: phys_port_name (net/core/devlink.c,
// __devlink_port_phys_port_name_get()).
#pragma once

#include <optional>
#include <string_view>

namespace rdmanet::kernel {

/// "p0": a port of the card.
[[nodiscard]] bool is_of_port(std::string_view port_name);

/// "pf0vf3": 3, the number of the VF that it represents; nullopt if it is not a representor. A card with its own
/// processors also has representors for another host's VFs, which begin with that host's controller, "c1pf0vf3".
[[nodiscard]] std::optional<unsigned> vf_of(std::string_view port_name);

} // namespace rdmanet::kernel
