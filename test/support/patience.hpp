#pragma once

#include <chrono>
#include <functional>
#include <string>

namespace rdmanet::test {

/// How long a test waits for what the kernel does later: namespaces that end, links that come up. A busy machine
/// takes many times as long as an idle one. A wait ends as soon as its condition is true.
constexpr std::chrono::seconds kPatience{120};

/// Repeats until the condition is true. False after kPatience.
bool comes_true(const std::function<bool()>& condition);

/// Repeats a shell command until it succeeds. After kPatience it throws with the command's output.
void wait_until(const std::string& command);

} // namespace rdmanet::test
