// A stack that is large enough, whatever the caller's limit is (`ulimit -s`).
#pragma once

namespace rdmanet::cmd {

/// Runs `run(argc, argv)` and returns its exit status. Under a small stack limit it runs on a stack of its own:
/// raising a hard limit needs CAP_SYS_RESOURCE, which root in a container lacks.
int run_with_enough_stack(int (*run)(int, char**), int argc, char** argv) noexcept;

} // namespace rdmanet::cmd
