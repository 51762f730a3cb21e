// A child process with its input, both outputs, and a deadline.
#pragma once

#include <rdmanet/base/deadline.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace rdmanet::cni {

struct ChildOutcome {
    bool timed_out = false;
    int exec_errno = 0; // why the program could not be executed; 0 if it could
    int exit_status = 0;
    int signal = 0; // the signal that ended it; 0 if it exited
    std::string out;
    std::string err;
    bool out_overflowed = false;
};

/// Runs `program` in a process group of its own, writes `input` and collects the output: up to 1 MiB of standard
/// output and 64 KiB of standard error; the rest is dropped. Returns when the child has ended and closed its outputs,
/// or at the deadline, when the group is killed. If a grandchild keeps an output open, the wait ends 100 ms after the
/// child.
[[nodiscard]] ChildOutcome run_child(const std::string& program, const std::vector<std::string>& environment,
                                     std::string_view input, const base::Deadline& deadline);

} // namespace rdmanet::cni
