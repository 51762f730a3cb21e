// Which errors a system call can plausibly return, and which calls never fail here.
#pragma once

#include "traced_run.hpp"

#include <string>
#include <vector>

namespace rdmanet::test {

/// One fault for each call: the process is killed before the call.
[[nodiscard]] std::vector<Fault> kills_at(const std::vector<SystemCall>& calls);

/// For each call that can fail, one fault for each error. Calls that the tables lack fail with EIO, so new code is
/// covered too.
[[nodiscard]] std::vector<Fault> errors_at(const std::vector<SystemCall>& calls);

[[nodiscard]] bool is_same_call(const Fault& one, const Fault& other);

/// Like "killed before" or "ENOSPC from".
[[nodiscard]] std::string describe(const Fault& fault);

} // namespace rdmanet::test
