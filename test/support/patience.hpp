#pragma once

#include <chrono>
#include <functional>
#include <string>

namespace rdmanet::test {

/// How long a test waits for what the kernel does in its own time: namespaces that die, links that come up. A machine
/// that is busy with other things takes many times as long as an idle one; a wait ends when there is nothing to wait
/// for.
constexpr std::chrono::seconds kPatience{120};

/// Looks again and again until the condition is true; false when patience ends.
bool comes_true(const std::function<bool()>& condition);

/// Runs a shell command again and again until it succeeds. Throws with what it says when patience ends.
void wait_until(const std::string& command);

} // namespace rdmanet::test
