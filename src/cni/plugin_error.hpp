// Errors for the failures of other plugins.
#pragma once

#include "child_process.hpp"

#include <chrono>
#include <string>
#include <string_view>

namespace rdmanet::cni {

/// Returns if the plugin succeeded. Otherwise throws TimeoutError; PluginError, which has the code and details of the
/// plugin's own error document; or CniError (delegate). `who` begins the message.
void require_success(const std::string& who, const std::string& program, const ChildOutcome& outcome,
                     std::chrono::milliseconds patience);

/// Throws for a plugin that could not be executed.
[[noreturn]] void throw_not_executed(const std::string& who, const std::string& program, int exec_errno);

/// Throws for a plugin whose output is not a CNI document; `output` becomes the details.
[[noreturn]] void throw_nonsense(const std::string& message, std::string_view output = {});

/// The same, for a plugin that ended with success. `what` says what it printed instead of a result.
[[noreturn]] void throw_no_result(const std::string& who, std::string_view what, std::string_view output = {});

} // namespace rdmanet::cni
