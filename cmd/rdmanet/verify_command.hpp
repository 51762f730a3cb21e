// `rdmanet verify`.
#pragma once

#include "verify_options.hpp"

namespace rdmanet::cmd {

/// Prints the report, and progress to standard error. Returns the exit status.
[[nodiscard]] int run_verify(const VerifyOptions& options);

} // namespace rdmanet::cmd
