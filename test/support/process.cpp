#include "support/process.hpp"
#include "support/concat.hpp"

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/error.hpp>
#include <rdmanet/base/unique_fd.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
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

/// What the child needs, made before it exists: until it becomes the program, it shares the test's memory.
struct Program {
    Program(const std::vector<std::string>& arguments, const ProcessOptions& options) {
        std::size_t first = 0;
        if (arguments.size() > 4 && std::equal(kInNetns.begin(), kInNetns.end(), arguments.begin())) {
            netns = concat("/run/netns/", arguments[kInNetns.size()]);
            first = kInNetns.size() + 1;
        }
        for (; first < arguments.size(); ++first) argv.push_back(const_cast<char*>(arguments[first].c_str()));
        argv.push_back(nullptr);
        env.push_back(path.data());
        for (const auto& variable : options.environment) env.push_back(const_cast<char*>(variable.c_str()));
        env.push_back(nullptr);
    }

    static constexpr std::array kInNetns{"ip", "netns", "exec"};
    std::string path = concat("PATH=", std::getenv("PATH"));
    std::string netns; // empty: the test's
    std::vector<char*> argv;
    std::vector<char*> env;
};

/// Does what `ip netns exec` does, which as a process of its own would double the time of most commands.
bool enter(const char* netns) noexcept {
    const int fd = ::open(netns, O_RDONLY | O_CLOEXEC);
    return fd >= 0 && ::setns(fd, CLONE_NEWNET) == 0 && ::unshare(CLONE_NEWNS) == 0 &&
           ::mount("", "/", "none", MS_SLAVE | MS_REC, nullptr) == 0 && ::umount2("/sys", MNT_DETACH) == 0 &&
           ::mount("sysfs", "/sys", "sysfs", 0, nullptr) == 0;
}

[[noreturn]] void become(Program& program, const ProcessOptions& options, const Pipe& in, const Pipe& out,
                         const Pipe& err) noexcept {
    ::setpgid(0, 0);
    ::dup2(in.read.get(), STDIN_FILENO);
    ::dup2(out.write.get(), STDOUT_FILENO);
    ::dup2(err.write.get(), STDERR_FILENO);
    if (options.close_stdout) ::close(STDOUT_FILENO);
    limit_stack(options);
    if (!program.netns.empty() && !enter(program.netns.c_str())) {
        ::dprintf(STDERR_FILENO, "cannot enter %s: %s\n", program.netns.c_str(), std::strerror(errno));
        ::_exit(255);
    }
    ::execvpe(program.argv[0], program.argv.data(), program.env.data());
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
    Program program(arguments, options);
    const pid_t child =
        ::vfork(); // fork() would copy the page tables of the test, which takes milliseconds in the guest
    if (child < 0) throw base::SystemError("vfork", errno);
    if (child == 0) {
        std::signal(SIGPIPE, SIG_DFL);
        become(program, options, in, out, err);
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
