// Addresses from another IPAM plugin.
#pragma once

#include "context.hpp"
#include "step.hpp"

#include <rdmanet/cni/request.hpp>
#include <rdmanet/state/step.hpp>

#include <memory>
#include <string>

namespace rdmanet::attach {

/// What undoes an ADD of IPAM plugin `plugin`: DEL with the ADD's own configuration.
[[nodiscard]] state::DelegateIpam delegate_step(const cni::Request& request, const std::string& plugin);

[[nodiscard]] std::string describe_step(const state::DelegateIpam& step);
void revert_step(const state::DelegateIpam& step, const RevertContext& context);

/// Null if the attachment needs none.
[[nodiscard]] std::unique_ptr<Step> make_delegate(const AddContext& context, const Findings& found);

} // namespace rdmanet::attach
