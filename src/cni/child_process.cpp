#include "child_process.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/unique_fd.hpp>
#include <rdmanet/base/wait.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>

namespace rdmanet::cni {
namespace {

using base::Deadline;
using base::UniqueFd;

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

constexpr std::chrono::milliseconds kKillPatience{1000};

UniqueFd above_standard_error(UniqueFd fd) {
    if (fd.get() > STDERR_FILENO) return fd;
    UniqueFd moved(::fcntl(fd.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
    if (!moved) throw base::SystemError("make a pipe for a plugin", errno);
    return moved;
}

/// Between fork and exec: only async-signal-safe calls, no allocation.
[[noreturn]] void become(const char* program, char* const* argv, char* const* envp, const Pipes& pipes, pid_t parent) {
    (void)::setpgid(0, 0);
    (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(127); // the parent died before prctl()
    (void)::signal(SIGPIPE, SIG_DFL);        // an ignored signal stays ignored over exec
    (void)::signal(SIGXFSZ, SIG_DFL);
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
    (void)::setpgid(child, child); // in both processes: from here on the group can be killed
    return child;
}

Pipe::Pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw base::SystemError("make a pipe for a plugin", errno);
    read = UniqueFd(ends[0]);
    write = UniqueFd(ends[1]);
    read = above_standard_error(std::move(read));
    write = above_standard_error(std::move(write));
}

Child::Child(const std::string& program, const std::vector<std::string>& environment, Pipes& pipes)
    : pid_(start(program, environment, pipes)), pidfd_(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0))) {
    pipes.in.read.reset();
    pipes.out.write.reset();
    pipes.err.write.reset();
    pipes.exec_failure.write.reset();
}

Child::~Child() {
    if (pid_ <= 0) return;
    kill_group();
    (void)reap(kKillPatience);
}

bool Child::has_ended() const {
    siginfo_t info{};
    // WNOWAIT: the process ID must stay reserved until reap(), because kill_group() uses it.
    return ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid_;
}

void Child::kill_group() const noexcept {
    (void)::kill(-pid_, SIGKILL);
}

int Child::reap(std::chrono::milliseconds patience) noexcept {
    int status = SIGKILL; // the status of a killed process in wait(2)
    base::wait_for(base::Deadline::in(patience), [&] { return ::waitpid(pid_, &status, WNOHANG) != 0; });
    pid_ = -1;
    return status;
}

constexpr std::size_t kMostOut = std::size_t{1} << 20U;
constexpr std::size_t kMostErr = std::size_t{64} << 10U;
constexpr std::chrono::milliseconds kGrandchildGrace{100};
constexpr std::chrono::milliseconds kReapPatience{1000};

/// Changes a signal's disposition during the object's lifetime.
class Disposition {
public:
    Disposition(int number, void (*handler)(int)) : number_(number), before_(std::signal(number, handler)) {}
    Disposition(const Disposition&) = delete;
    Disposition& operator=(const Disposition&) = delete;
    ~Disposition() {
        if (before_ != SIG_ERR) (void)std::signal(number_, before_);
    }

private:
    int number_;
    void (*before_)(int);
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

/// How long one poll() may take: without a pidfd, nothing wakes it when the child ends.
int poll_timeout(const Child& child, const Deadline& deadline) {
    constexpr std::chrono::milliseconds kBlind{10};
    constexpr std::chrono::milliseconds kLongest{60'000};
    return static_cast<int>(std::min(deadline.remaining(), child.pidfd() < 0 ? kBlind : kLongest).count());
}

/// Moves data until the child has ended and its outputs are closed. False at the deadline.
bool converse(Pipes& pipes, const Child& child, std::string_view input, ChildOutcome& outcome, Deadline deadline) {
    (void)::fcntl(pipes.in.write.get(), F_SETFL, O_NONBLOCK);
    if (input.empty()) pipes.in.write.reset();
    bool ended = false;
    bool err_overflowed = false;
    while (!ended || pipes.out.read || pipes.err.read) {
        if (deadline.passed()) return ended;
        std::array<pollfd, 4> polled = {{{pipes.in.write.get(), POLLOUT, 0},
                                         {pipes.out.read.get(), POLLIN, 0},
                                         {pipes.err.read.get(), POLLIN, 0},
                                         {ended ? -1 : child.pidfd(), POLLIN, 0}}};
        if (::poll(polled.data(), polled.size(), poll_timeout(child, deadline)) < 0) {
            if (errno != EINTR) throw base::SystemError("wait for a plugin", errno);
            continue;
        }
        if (polled[0].revents != 0) feed(pipes.in.write, input);
        if (polled[1].revents != 0 && !drain(pipes.out.read, outcome.out, kMostOut, outcome.out_overflowed))
            pipes.out.read.reset();
        if (polled[2].revents != 0 && !drain(pipes.err.read, outcome.err, kMostErr, err_overflowed))
            pipes.err.read.reset();
        if (!ended && child.has_ended()) {
            ended = true;
            deadline = deadline.at_most(kGrandchildGrace);
        }
    }
    return true;
}

/// Why execve() failed, or 0. Called after the child has ended, so it never waits.
int exec_errno_from(const UniqueFd& fd) {
    int reason = 0;
    (void)::fcntl(fd.get(), F_SETFL, O_NONBLOCK);
    return ::read(fd.get(), &reason, sizeof reason) == ssize_t{sizeof reason} ? reason : 0;
}

} // namespace

ChildOutcome run_child(const std::string& program, const std::vector<std::string>& environment, std::string_view input,
                       const Deadline& deadline) {
    const Disposition on_pipe(SIGPIPE, SIG_IGN);  // a plugin need not read its input: write() returns EPIPE
    const Disposition on_child(SIGCHLD, SIG_DFL); // a caller may pass it on as ignored: no child could be waited for
    Pipes pipes;
    ChildOutcome outcome;
    Child child(program, environment, pipes);
    outcome.timed_out = !converse(pipes, child, input, outcome, deadline);
    if (outcome.timed_out) child.kill_group();
    const int status = child.reap(kReapPatience);
    outcome.exec_errno = exec_errno_from(pipes.exec_failure.read);
    if (WIFSIGNALED(status))
        outcome.signal = WTERMSIG(status);
    else
        outcome.exit_status = WEXITSTATUS(status);
    return outcome;
}

} // namespace rdmanet::cni
