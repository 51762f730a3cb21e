#include "child.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/wait.hpp>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <csignal>

namespace rdmanet::cni {
namespace {

using base::UniqueFd;

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

} // namespace

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

} // namespace rdmanet::cni
