// A stack that is large enough, whatever limit the caller has set (`ulimit -s`).
#pragma once

namespace rdmanet::cmd {

/// Runs `run(argc, argv)`; its exit status. Under a small stack limit it runs on a stack of its own: a process may not
/// raise a hard limit without CAP_SYS_RESOURCE, which root in a container lacks.
int run_with_enough_stack(int (*run)(int, char**), int argc, char** argv) noexcept;

} // namespace rdmanet::cmd
