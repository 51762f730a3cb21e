#include "child_process.hpp"

#include "child.hpp"

#include <rdmanet/base/error.hpp>

#include <fcntl.h>
#include <poll.h>
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
