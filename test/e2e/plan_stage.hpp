// Runs `rdmanet plan` and compares it with ADD.
#pragma once

#include "vf_stage.hpp"

#include "support/process.hpp"

#include <string>
#include <vector>

namespace rdmanet::test {

/// ADD's container ID. Its records then have the same key as the plan's.
constexpr const char* kPlanned = "rdmanet-plan";
/// A state directory that does not exist. A plan must not create it.
constexpr const char* kNoState = "/tmp/rdmanet-no-state";

using Options = std::vector<std::string>;

[[nodiscard]] ProcessResult plan(const std::string& config, const Options& options);
/// Runs the plan for the pod of the call.
[[nodiscard]] ProcessResult plan(const PluginCall& call, const Options& more = {});

/// The plan. Throws if it was refused.
[[nodiscard]] std::string plan_text(const ProcessResult& result);
/// The refusal as a person reads it, without the program's name.
[[nodiscard]] std::string plan_refusal(const ProcessResult& result);
[[nodiscard]] std::string last_line(const std::string& text);

/// Every file and directory of the state, with its inode and the time of its last change.
[[nodiscard]] std::string look_at_state();

} // namespace rdmanet::test
