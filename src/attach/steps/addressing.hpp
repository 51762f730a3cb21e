// Addresses and routes on the pod's interface.
#pragma once

#include "check_context.hpp"
#include "step.hpp"

#include <memory>

namespace rdmanet::attach {

/// Throws CniError for keys that the interface can't have.
void find_addressing(const PlanContext& context, Findings& found);

/// Null if the attachment needs none.
[[nodiscard]] std::unique_ptr<Step> make_addressing(const AddContext& context, const Findings& found);

/// Throws CniError (code 107) for the first difference.
void check_addressing(const CheckContext& context);

} // namespace rdmanet::attach
