#include "child_process.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/unique_fd.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

namespace rdmanet::cni {
namespace {

using base::Deadline;
using base::UniqueFd;

constexpr std::size_t kMostOut = std::size_t{1} << 20U;
constexpr std::size_t kMostErr = std::size_t{64} << 10U;

struct Pipe {
    Pipe() {
        int ends[2];
        if (::pipe2(ends, O_CLOEXEC) != 0) throw base::SystemError("make a pipe for a plugin", errno);
        read = UniqueFd(ends[0]);
        write = UniqueFd(ends[1]);
    }
    UniqueFd read;
    UniqueFd write;
};

struct Pipes {
    Pipe in, out, err, exec_failure; // the last reports why execve() failed, and closes when it did not
};

/// Between fork and exec: only calls that are safe there, nothing that allocates.
[[noreturn]] void become(const char* program, char* const* argv, char* const* envp, const Pipes& pipes, pid_t parent) {
    (void)::setpgid(0, 0);
    (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(127); // the parent died before prctl()
    (void)::signal(SIGPIPE, SIG_DFL);
    (void)::dup2(pipes.in.read.get(), STDIN_FILENO);
    (void)::dup2(pipes.out.write.get(), STDOUT_FILENO);
    (void)::dup2(pipes.err.write.get(), STDERR_FILENO);
    ::execve(program, argv, envp);
    const int reason = errno;
    (void)!::write(pipes.exec_failure.write.get(), &reason, sizeof reason);
    ::_exit(127);
}

pid_t start(const std::string& program, const std::vector<std::string>& environment, const Pipes& pipes) {
    std::array<char*, 2> argv = {const_cast<char*>(program.c_str()), nullptr};
    std::vector<char*> envp;
    envp.reserve(environment.size() + 1);
    for (const std::string& variable : environment) envp.push_back(const_cast<char*>(variable.c_str()));
    envp.push_back(nullptr);
    const pid_t parent = ::getpid();
    const pid_t child = ::fork();
    if (child < 0) throw base::SystemError("start a plugin", errno);
    if (child == 0) become(program.c_str(), argv.data(), envp.data(), pipes, parent);
    (void)::setpgid(child, child); // whoever is first: killing the group must work from here on
    return child;
}

/// Kills the group unless the child was reaped.
class Child {
public:
    explicit Child(pid_t pid) : pid_(pid), pidfd_(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))) {
        if (!pidfd_) throw_after_kill(errno);
    }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;
    ~Child() {
        if (pid_ <= 0) return;
        kill();
        (void)reap();
    }
    [[nodiscard]] const UniqueFd& pidfd() const { return pidfd_; }
    void kill() const { (void)::kill(-pid_, SIGKILL); }
    int reap() {
        int status = 0;
        while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
        }
        pid_ = -1;
        return status;
    }

private:
    [[noreturn]] void throw_after_kill(int why) {
        kill();
        (void)reap();
        throw base::SystemError("watch a plugin (pidfd_open, Linux 5.3)", why);
    }

    pid_t pid_;
    UniqueFd pidfd_; // readable when the child has ended
};

/// False at the end of the stream.
bool drain(const UniqueFd& fd, std::string& into, std::size_t most, bool& overflowed) {
    char buffer[16384];
    const ssize_t count = ::read(fd.get(), buffer, sizeof buffer);
    if (count < 0) return errno == EINTR || errno == EAGAIN;
    const auto room = std::min(static_cast<std::size_t>(count), most - into.size());
    into.append(buffer, room);
    overflowed = overflowed || room < static_cast<std::size_t>(count);
    return count > 0;
}

void feed(UniqueFd& fd, std::string_view& input) {
    const ssize_t count = ::write(fd.get(), input.data(), input.size());
    if (count >= 0)
        input.remove_prefix(static_cast<std::size_t>(count));
    else if (errno != EAGAIN && errno != EINTR)
        input = {}; // a plugin need not read its input
    if (input.empty()) fd.reset();
}

/// Moves data until the child has ended and its outputs are closed. False at the deadline.
bool converse(Pipes& pipes, const Child& child, std::string_view input, ChildOutcome& outcome, Deadline deadline) {
    constexpr std::chrono::milliseconds kGrandchildGrace{100};
    (void)::fcntl(pipes.in.write.get(), F_SETFL, O_NONBLOCK);
    if (input.empty()) pipes.in.write.reset();
    bool ended = false;
    bool err_overflowed = false;
    while (!ended || pipes.out.read || pipes.err.read) {
        const auto fd_or_none = [](const UniqueFd& fd) { return fd ? fd.get() : -1; };
        std::array<pollfd, 4> polled = {{{fd_or_none(pipes.in.write), POLLOUT, 0},
                                         {fd_or_none(pipes.out.read), POLLIN, 0},
                                         {fd_or_none(pipes.err.read), POLLIN, 0},
                                         {ended ? -1 : fd_or_none(child.pidfd()), POLLIN, 0}}};
        const int ready = ::poll(polled.data(), polled.size(), static_cast<int>(deadline.remaining().count()));
        if (ready == 0) return ended;
        if (ready < 0 && errno != EINTR) throw base::SystemError("wait for a plugin", errno);
        if (ready < 0) continue;
        if (polled[0].revents != 0) feed(pipes.in.write, input);
        if (polled[1].revents != 0 && !drain(pipes.out.read, outcome.out, kMostOut, outcome.out_overflowed))
            pipes.out.read.reset();
        if (polled[2].revents != 0 && !drain(pipes.err.read, outcome.err, kMostErr, err_overflowed))
            pipes.err.read.reset();
        if (polled[3].revents != 0) {
            ended = true;
            deadline = deadline.at_most(kGrandchildGrace);
        }
    }
    return true;
}

} // namespace

ChildOutcome run_child(const std::string& program, const std::vector<std::string>& environment, std::string_view input,
                       const Deadline& deadline) {
    Pipes pipes;
    ChildOutcome outcome;
    Child child(start(program, environment, pipes));
    pipes.in.read.reset();
    pipes.out.write.reset();
    pipes.err.write.reset();
    pipes.exec_failure.write.reset();
    if (::read(pipes.exec_failure.read.get(), &outcome.exec_errno, sizeof outcome.exec_errno) <= 0)
        outcome.exec_errno = 0;
    outcome.timed_out = !converse(pipes, child, input, outcome, deadline);
    if (outcome.timed_out) child.kill();
    const int status = child.reap();
    if (WIFSIGNALED(status))
        outcome.signal = WTERMSIG(status);
    else
        outcome.exit_status = WEXITSTATUS(status);
    return outcome;
}

} // namespace rdmanet::cni
