// Addresses from another IPAM plugin.
#pragma once

#include "step.hpp"

#include <rdmanet/cni/request.hpp>

#include <string>
#include <string_view>

namespace rdmanet::attach {

/// The step that undoes an ADD of IPAM plugin `plugin`: DEL with ADD's own configuration.
[[nodiscard]] state::DelegateIpam delegate_step(const cni::Request& request, const std::string& plugin);

/// Whether the IPAM plugin refused the ADD. Then one DEL is enough, whatever the plugin answers: most often its
/// configuration is wrong, and repeating DEL would not help.
[[nodiscard]] bool is_settled_by_one_attempt(const state::Step& step);

/// Whether undoing `step` also undoes `other`: both call the same plugin with the same configuration.
[[nodiscard]] bool undoes_too(const state::Step& step, const state::Step& other);

} // namespace rdmanet::attach
