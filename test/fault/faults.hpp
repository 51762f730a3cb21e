// Which errors a system call can plausibly return, and which calls are left alone.
#pragma once

#include "traced_run.hpp"

#include <string>
#include <vector>

namespace rdmanet::test {

/// One fault per call: the process is killed before it.
[[nodiscard]] std::vector<Fault> kills_at(const std::vector<SystemCall>& calls);

/// For each call that can fail, one fault per error. Calls that the tables don't know fail with EIO: new code is
/// covered without being listed.
[[nodiscard]] std::vector<Fault> errors_at(const std::vector<SystemCall>& calls);

[[nodiscard]] bool is_same_call(const Fault& one, const Fault& other);

/// "killed before", or "ENOSPC from".
[[nodiscard]] std::string describe(const Fault& fault);

} // namespace rdmanet::test
