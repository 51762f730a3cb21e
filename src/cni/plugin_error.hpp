// What another plugin's failure means.
#pragma once

#include "child_process.hpp"

#include <chrono>
#include <string>
#include <string_view>

namespace rdmanet::cni {

/// Returns if the plugin succeeded. Otherwise throws TimeoutError; PluginError, which is the plugin's own error
/// document with its code and details; or CniError (delegate) with what there is to say. `who` begins the message.
void require_success(const std::string& who, const std::string& program, const ChildOutcome& outcome,
                     std::chrono::milliseconds patience);

/// A plugin that could not be executed.
[[noreturn]] void throw_not_executed(const std::string& who, const std::string& program, int exec_errno);

/// A plugin that talks nonsense; `output` becomes the details.
[[noreturn]] void throw_nonsense(const std::string& message, std::string_view output = {});

} // namespace rdmanet::cni
