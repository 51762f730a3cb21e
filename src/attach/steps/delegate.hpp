// Addresses from another IPAM plugin.
#pragma once

#include "context.hpp"

#include <rdmanet/cni/request.hpp>
#include <rdmanet/state/step.hpp>

#include <string>

namespace rdmanet::attach {

/// What undoes an ADD of IPAM plugin `plugin`: DEL with the ADD's own configuration.
[[nodiscard]] state::DelegateIpam delegate_step(const cni::Request& request, const std::string& plugin);

void revert_step(const state::DelegateIpam& step, const RevertContext& context);

} // namespace rdmanet::attach
