// A started program: its pipes, its process group, and its end.
#pragma once

#include <rdmanet/base/unique_fd.hpp>

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

namespace rdmanet::cni {

/// Both ends close on exec and have numbers above standard error, so that dup2() onto 0, 1 and 2 never meets them.
struct Pipe {
    Pipe();
    base::UniqueFd read;
    base::UniqueFd write;
};

struct Pipes {
    Pipe in, out, err, exec_failure; // exec_failure carries the errno of a failed execve()
};

/// Kills the process group unless the child was reaped.
class Child {
public:
    /// Runs `program` in a process group of its own, which is killed when this process dies. Throws SystemError if no
    /// process can be made. A program that cannot be executed ends and leaves its errno in `exec_failure`.
    Child(const std::string& program, const std::vector<std::string>& environment, Pipes& pipes);
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;
    ~Child();

    /// Readable when the child has ended; -1 on kernels without it (before Linux 5.3).
    [[nodiscard]] int pidfd() const { return pidfd_.get(); }
    [[nodiscard]] bool has_ended() const;
    void kill_group() const noexcept;
    /// The status as wait(2) reports it. A killed child that the kernel cannot end yet (state D) is left to init
    /// after `patience`. Its status is then that of the kill.
    int reap(std::chrono::milliseconds patience) noexcept;

private:
    pid_t pid_;
    base::UniqueFd pidfd_;
};

} // namespace rdmanet::cni
