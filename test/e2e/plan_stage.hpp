// Plans of the tests: `rdmanet plan` and what it says, beside ADD.
#pragma once

#include "vf_stage.hpp"

#include "support/process.hpp"

#include <string>
#include <vector>

namespace rdmanet::test {

/// So that ADD's records have the same key as the plan's.
constexpr const char* kPlanned = "rdmanet-plan";
/// A state directory that isn't there, and must not be after a plan.
constexpr const char* kNoState = "/tmp/rdmanet-no-state";

using Options = std::vector<std::string>;

[[nodiscard]] ProcessResult plan(const std::string& config, const Options& options);
/// For the pod that the call is for.
[[nodiscard]] ProcessResult plan(const PluginCall& call, const Options& more = {});

/// The plan. Throws if there is a refusal instead.
[[nodiscard]] std::string told(const ProcessResult& result);
/// What a person reads then, without the program's name.
[[nodiscard]] std::string no_plan(const ProcessResult& result);
[[nodiscard]] std::string last_line(const std::string& text);

/// Every file and directory of the state, with its inode and the time of its last change.
[[nodiscard]] std::string look_at_state();

} // namespace rdmanet::test
