// Everything that an ADD finds out and decides before it changes anything.
#pragma once

#include "lookup/device_find.hpp"
#include "lookup/pod_side.hpp"
#include "owners/attachment.hpp"
#include "steps/child_link.hpp"
#include "steps/device.hpp"
#include "steps/move_interface.hpp"

#include <rdmanet/config/config.hpp>

#include <variant>

namespace rdmanet::attach {

/// What was found and decided; nothing has been changed yet.
using Plan = std::variant<ChildPlan, DevicePlan, InterfacePlan>;

/// Throws CniError for what no plan can mend: a result that the version can't express, an IPAM plugin that isn't there.
void require_possible(const cni::Request& request, const config::Config& config, const base::Logger& log);

/// `moving` is what moves, if anything does. Reads the kernel and changes nothing. Throws CniError with the cure for
/// whatever would make the ADD fail later.
[[nodiscard]] Plan make_plan(const cni::Request& request, const config::Config& config, const Attachment& attachment,
                             PodSide& pod, const std::optional<Movable>& moving, const base::Deadline& deadline);

} // namespace rdmanet::attach
