// A child process with its input, both outputs, and a deadline.
#pragma once

#include <rdmanet/base/deadline.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace rdmanet::cni {

struct ChildOutcome {
    bool timed_out = false;
    int exec_errno = 0; // why the program could not be executed; 0 if it was
    int exit_status = 0;
    int signal = 0; // that ended it; 0 if it ended by itself
    std::string out;
    std::string err;
    bool out_overflowed = false;
};

/// Runs `program` in a process group of its own, feeds `input`, collects output: 1 MiB of standard output, 64 KiB of
/// standard error, more is read and dropped. Returns when the child has ended and closed its outputs, or at the
/// deadline, when the group is killed. A grandchild that keeps an output open is waited for 100 ms longer than the
/// child.
[[nodiscard]] ChildOutcome run_child(const std::string& program, const std::vector<std::string>& environment,
                                     std::string_view input, const base::Deadline& deadline);

} // namespace rdmanet::cni
