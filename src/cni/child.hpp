// A started program: its pipes, its process group, and its end.
#pragma once

#include <rdmanet/base/unique_fd.hpp>

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

namespace rdmanet::cni {

/// Both ends close on exec and lie above standard error, so that dup2() onto 0, 1 and 2 never meets them.
struct Pipe {
    Pipe();
    base::UniqueFd read;
    base::UniqueFd write;
};

struct Pipes {
    Pipe in, out, err, exec_failure; // the last carries the errno of a failed execve(), and closes when it did not fail
};

/// Kills the process group unless the child was reaped.
class Child {
public:
    /// Runs `program` in a process group of its own; it is killed when this process dies. Throws SystemError if there
    /// is no process to be had; a program that can't be executed ends and leaves its errno in `exec_failure`.
    Child(const std::string& program, const std::vector<std::string>& environment, Pipes& pipes);
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;
    ~Child();

    /// Readable when the child has ended; -1 where the kernel has none (before Linux 5.3).
    [[nodiscard]] int pidfd() const { return pidfd_.get(); }
    [[nodiscard]] bool has_ended() const;
    void kill_group() const noexcept;
    /// The status as of wait(2). A killed child that the kernel can't end yet (state D) is left to init after
    /// `patience`: the status is then that of the kill.
    int reap(std::chrono::milliseconds patience) noexcept;

private:
    pid_t pid_;
    base::UniqueFd pidfd_;
};

} // namespace rdmanet::cni
