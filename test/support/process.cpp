#include "support/process.hpp"
#include "support/concat.hpp"

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/error.hpp>
#include <rdmanet/base/unique_fd.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <iterator>
#include <sstream>

namespace rdmanet::test {
namespace {

using base::UniqueFd;

struct Pipe {
    Pipe() {
        int ends[2];
        if (::pipe2(ends, O_CLOEXEC) != 0) throw base::SystemError("pipe", errno);
        read = UniqueFd(ends[0]);
        write = UniqueFd(ends[1]);
    }
    UniqueFd read;
    UniqueFd write;
};

} // namespace

void limit_stack(const ProcessOptions& options) noexcept {
    rlimit limit{};
    if (options.stack_limit == 0 || ::getrlimit(RLIMIT_STACK, &limit) != 0) return;
    limit.rlim_cur = options.stack_limit;
    (void)::setrlimit(RLIMIT_STACK, &limit);
}

namespace {

[[noreturn]] void become(const std::vector<std::string>& arguments, const ProcessOptions& options, const Pipe& in,
                         const Pipe& out, const Pipe& err) {
    ::dup2(in.read.get(), STDIN_FILENO);
    ::dup2(out.write.get(), STDOUT_FILENO);
    ::dup2(err.write.get(), STDERR_FILENO);
    if (options.close_stdout) ::close(STDOUT_FILENO);
    limit_stack(options);
    std::vector<char*> argv;
    for (const auto& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    const std::string path = concat("PATH=", std::getenv("PATH"));
    std::vector<char*> env{const_cast<char*>(path.c_str())};
    for (const auto& variable : options.environment) env.push_back(const_cast<char*>(variable.c_str()));
    env.push_back(nullptr);
    ::execvpe(argv[0], argv.data(), env.data());
    ::_exit(127);
}

/// Reads what is available. False at the end of the pipe.
bool drain(const UniqueFd& fd, std::string& into) {
    char buffer[65536];
    const ssize_t count = ::read(fd.get(), buffer, sizeof buffer);
    if (count > 0) into.append(buffer, static_cast<std::size_t>(count));
    return count > 0;
}

/// Feeds and drains the three pipes until both outputs are closed or the deadline passes.
bool exchange(Pipe& in, Pipe& out, Pipe& err, std::string_view input, ProcessResult& result, base::Deadline deadline) {
    if (input.empty()) in.write.reset(); // a reader waits for the end of input
    while (out.read || err.read) {
        std::array<pollfd, 3> polled = {{{input.empty() ? -1 : in.write.get(), POLLOUT, 0},
                                         {out.read ? out.read.get() : -1, POLLIN, 0},
                                         {err.read ? err.read.get() : -1, POLLIN, 0}}};
        if (::poll(polled.data(), polled.size(), static_cast<int>(deadline.remaining().count())) == 0) return false;
        if (polled[0].revents != 0) {
            const ssize_t count = ::write(in.write.get(), input.data(), std::min<std::size_t>(input.size(), 4096));
            input.remove_prefix(count < 0 ? input.size() : static_cast<std::size_t>(count));
        }
        if (input.empty()) in.write.reset();
        if (polled[1].revents != 0 && !drain(out.read, result.out)) out.read.reset();
        if (polled[2].revents != 0 && !drain(err.read, result.err)) err.read.reset();
    }
    return true;
}

} // namespace

ProcessResult run_process(const std::vector<std::string>& arguments, const ProcessOptions& options) {
    std::signal(SIGPIPE, SIG_IGN);
    Pipe in;
    Pipe out;
    Pipe err;
    const pid_t child = ::fork();
    if (child < 0) throw base::SystemError("fork", errno);
    if (child == 0) {
        std::signal(SIGPIPE, SIG_DFL);
        ::setpgid(0, 0);
        become(arguments, options, in, out, err);
    }
    in.read.reset();
    out.write.reset();
    err.write.reset();
    ProcessResult result;
    result.timed_out = !exchange(in, out, err, options.input, result, base::Deadline::in(options.timeout));
    if (result.timed_out) ::kill(-child, SIGKILL);
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    result.exit_status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    return result;
}

namespace {

/// A shell takes twice the time. A command without shell syntax is executed directly.
std::vector<std::string> arguments_of(const std::string& command) {
    if (command.empty() || command.find_first_of("|&;<>()$`\\\"'*?[]#~=%{}!\n") != std::string::npos)
        return {"/bin/bash", "-c", command};
    std::istringstream words(command);
    return {std::istream_iterator<std::string>(words), {}};
}

} // namespace

std::string shell(const std::string& command) {
    const ProcessResult result = run_process(arguments_of(command));
    if (result.exit_status != 0)
        throw base::Error(concat(command, ": exit status ", result.exit_status, ": ", result.out, result.err));
    return result.out;
}

bool succeeds(const std::string& command) {
    return run_process(arguments_of(command)).exit_status == 0;
}

} // namespace rdmanet::test
