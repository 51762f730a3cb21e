#include "traced_run.hpp"

#include "support/concat.hpp"
#include "support/patience.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/unique_fd.hpp>

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <map>

namespace rdmanet::test {
namespace {

using base::SystemError;
using base::UniqueFd;

/// Standard streams are files in memory, so that nobody has to drain them while the tracer waits.
UniqueFd memory_file(std::string_view content) {
    UniqueFd fd(::memfd_create("stream", MFD_CLOEXEC));
    if (!fd) throw SystemError("memfd_create", errno);
    if (::pwrite(fd.get(), content.data(), content.size(), 0) < 0) throw SystemError("write a stream", errno);
    return fd;
}

std::string content_of(const UniqueFd& fd) {
    std::string text(static_cast<std::size_t>(::lseek(fd.get(), 0, SEEK_END)), '\0');
    if (::pread(fd.get(), text.data(), text.size(), 0) < 0) throw SystemError("read a stream", errno);
    return text;
}

struct Streams {
    explicit Streams(std::string_view input) : in(memory_file(input)), out(memory_file("")), err(memory_file("")) {}
    UniqueFd in;
    UniqueFd out;
    UniqueFd err;
};

pid_t start(const std::vector<std::string>& command, const ProcessOptions& options, const Streams& streams) {
    std::string path = concat("PATH=", std::getenv("PATH"));
    std::vector<char*> env{path.data()};
    for (const auto& variable : options.environment) env.push_back(const_cast<char*>(variable.c_str()));
    env.push_back(nullptr);
    std::vector<char*> argv;
    for (const std::string& argument : command) argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    const pid_t child = ::fork();
    if (child < 0) throw SystemError("fork", errno);
    if (child != 0) return child;
    ::setpgid(0, 0);
    ::dup2(streams.in.get(), STDIN_FILENO);
    ::dup2(streams.out.get(), STDOUT_FILENO);
    ::dup2(streams.err.get(), STDERR_FILENO);
    limit_stack(options);
    ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    ::execve(argv[0], argv.data(), env.data());
    ::_exit(127);
}

void demand(long result, const char* what) {
    if (result < 0) throw SystemError(what, errno);
}

/// The traced process skips the call that it is about to make.
void skip_call(pid_t pid) {
#if defined(__x86_64__)
    demand(::ptrace(PTRACE_POKEUSER, pid, offsetof(user_regs_struct, orig_rax), -1L), "ptrace: skip a call");
#elif defined(__aarch64__)
    int none = -1;
    iovec io{&none, sizeof none};
    demand(::ptrace(PTRACE_SETREGSET, pid, NT_ARM_SYSTEM_CALL, &io), "ptrace: skip a call");
#else
#error "say how a system call is skipped and answered on this architecture"
#endif
}

void answer_call(pid_t pid, int error) {
#if defined(__x86_64__)
    demand(::ptrace(PTRACE_POKEUSER, pid, offsetof(user_regs_struct, rax), static_cast<long>(-error)),
           "ptrace: answer a call");
#elif defined(__aarch64__)
    user_regs_struct registers{};
    iovec io{&registers, sizeof registers};
    demand(::ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &io), "ptrace: read registers");
    registers.regs[0] = static_cast<unsigned long long>(static_cast<long long>(-error));
    demand(::ptrace(PTRACE_SETREGSET, pid, NT_PRSTATUS, &io), "ptrace: answer a call");
#endif
}

/// Sets the first argument for the kernel. The program relies on finding it unchanged after the call.
void set_first_argument(pid_t pid, std::uint64_t value) {
#if defined(__x86_64__)
    demand(::ptrace(PTRACE_POKEUSER, pid, offsetof(user_regs_struct, rdi), value), "ptrace: change an argument");
#elif defined(__aarch64__)
    (void)pid, (void)value; // the result uses the same register, so the call stays as it is
#endif
}

std::string string_at(pid_t pid, std::uint64_t address) {
    char buffer[256] = {};
    const iovec local{buffer, sizeof buffer - 1};
    // Does not read beyond the page, because the next page may not be mapped.
    const std::uint64_t length = std::min<std::uint64_t>(sizeof buffer - 1, 4096 - address % 4096);
    const iovec remote{reinterpret_cast<void*>(address), length}; // NOLINT: an address of the other process
    return ::process_vm_readv(pid, &local, 1, &remote, 1, 0) > 0 ? std::string(buffer) : std::string();
}

std::string fd_target(pid_t pid, std::uint64_t fd) {
    char buffer[256] = {};
    const std::string link = concat("/proc/", pid, "/fd/", fd);
    return ::readlink(link.c_str(), buffer, sizeof buffer - 1) > 0 ? std::string(buffer) : std::string();
}

std::string describe(pid_t pid, const SystemCall& call) {
    static const std::vector<std::string> kPathFirst = {"open",   "stat",   "lstat",    "access", "unlink", "rename",
                                                        "mkdir",  "rmdir",  "readlink", "chmod",  "chown",  "link",
                                                        "statfs", "execve", "symlink",  "chdir"};
    static const std::vector<std::string> kPathSecond = {"openat",   "newfstatat", "unlinkat",  "renameat",
                                                         "mkdirat",  "readlinkat", "fchmodat",  "faccessat",
                                                         "fchownat", "statx",      "renameat2", "faccessat2"};
    const std::string name = name_of(call.number);
    const auto among = [&](const auto& names) { return std::find(names.begin(), names.end(), name) != names.end(); };
    if (among(kPathFirst)) return concat(name, " \"", string_at(pid, call.arguments[0]), '"');
    if (among(kPathSecond)) {
        const std::string path = string_at(pid, call.arguments[1]);
        return concat(name, " \"", path.empty() ? fd_target(pid, call.arguments[0]) : path, '"');
    }
    std::string text = name;
    for (std::size_t i = 0; i < 3; ++i)
        text += concat(i == 0 ? '(' : ',', static_cast<std::int64_t>(call.arguments[i]));
    text += ')';
    if (call.arguments[0] < 1024) text += concat(" on ", fd_target(pid, call.arguments[0]));
    return text;
}

/// Interrupts a waitpid() that takes too long.
class Alarm {
public:
    explicit Alarm(std::chrono::milliseconds timeout) {
        struct sigaction action = {};
        action.sa_handler = [](int) {};
        ::sigaction(SIGALRM, &action, nullptr);
        ::alarm(static_cast<unsigned>(std::chrono::duration_cast<std::chrono::seconds>(timeout).count()));
    }
    Alarm(const Alarm&) = delete;
    Alarm& operator=(const Alarm&) = delete;
    ~Alarm() { ::alarm(0); }
};

class Tracer {
public:
    Tracer(pid_t pid, const std::optional<Fault>& fault, TracedResult& result)
        : pid_(pid), fault_(fault), result_(result) {}

    void run() {
        if (!wait()) return;
        demand(::ptrace(PTRACE_SETOPTIONS, pid_, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL),
               "ptrace: options");
        int signal = 0;
        for (;;) {
            const long continued = ::ptrace(PTRACE_SYSCALL, pid_, nullptr, signal);
            if (continued < 0 && errno != ESRCH) throw SystemError("ptrace: continue", errno); // ESRCH: killed
            if (!wait()) return;
            const int stopped_by = WSTOPSIG(status_);
            signal = stopped_by == (SIGTRAP | 0x80) ? 0 : stopped_by;
            if (signal == 0) at_call();
        }
    }

private:
    /// False when the process has ended.
    bool wait() {
        while (::waitpid(pid_, &status_, 0) < 0) {
            if (errno != EINTR) throw SystemError("waitpid", errno);
            result_.process.timed_out = true;
            ::kill(-pid_, SIGKILL);
        }
        if (WIFSTOPPED(status_)) return true;
        result_.process.exit_status = WIFSIGNALED(status_) ? 128 + WTERMSIG(status_) : WEXITSTATUS(status_);
        return false;
    }

    void at_call() {
        __ptrace_syscall_info info{};
        demand(::ptrace(PTRACE_GET_SYSCALL_INFO, pid_, sizeof info, &info), "ptrace: which call");
        if (info.op == PTRACE_SYSCALL_INFO_ENTRY) {
            SystemCall call{.number = info.entry.nr};
            std::copy(std::begin(info.entry.args), std::end(info.entry.args), call.arguments.begin());
            call.occurrence = ++counts_[call.number];
            entered(std::move(call));
        } else if (dying_) {
            ::kill(pid_, SIGKILL);
        } else if (failing_) {
            is_brk() ? set_first_argument(pid_, result_.at.arguments[0]) : answer_call(pid_, *fault_->error);
            failing_ = false;
        }
    }

    /// brk() reports no error: if it refuses, it returns the unchanged break. With address 0 it always does that.
    bool is_brk() const { return name_of(fault_->number) == "brk"; }

    /// The number of this call among the calls that the fault is about. 0 if it is not among them.
    unsigned count_if_about(const SystemCall& call) {
        return describe(pid_, call).find(fault_->about) == std::string::npos ? 0 : ++about_;
    }

    void entered(SystemCall call) {
        if (!fault_) {
            call.text = describe(pid_, call);
            result_.calls.push_back(std::move(call));
            return;
        }
        if (call.number != fault_->number) return;
        if (!fault_->about.empty()) call.occurrence = count_if_about(call);
        if (call.occurrence != fault_->occurrence) return;
        result_.reached = true;
        call.text = describe(pid_, call);
        result_.at = std::move(call);
        if (!fault_->error) {
            dying_ = fault_->before == BeforeFailing::execute;
            if (!dying_) ::kill(pid_, SIGKILL);
            return;
        }
        failing_ = true;
        if (is_brk())
            set_first_argument(pid_, 0);
        else if (fault_->before == BeforeFailing::nothing)
            skip_call(pid_);
    }

    pid_t pid_;
    const std::optional<Fault>& fault_;
    TracedResult& result_;
    std::map<std::uint64_t, unsigned> counts_;
    unsigned about_ = 0;
    int status_ = 0;
    bool failing_ = false;
    bool dying_ = false;
};

/// The process led a process group, and everything that it started is in this group.
bool group_is_left(pid_t group) {
    return !comes_true([&] { return ::kill(-group, 0) != 0; });
}

} // namespace

TracedResult run_traced(const std::string& program, const ProcessOptions& options, const std::optional<Fault>& fault) {
    return run_traced(std::vector<std::string>{program}, options, fault);
}

TracedResult run_traced(const std::vector<std::string>& command, const ProcessOptions& options,
                        const std::optional<Fault>& fault) {
    const Streams streams(options.input);
    TracedResult result;
    const Alarm alarm(options.timeout);
    const pid_t child = start(command, options, streams);
    Tracer(child, fault, result).run();
    result.process.out = content_of(streams.out);
    result.process.err = content_of(streams.err);
    result.left_children = group_is_left(child);
    return result;
}

namespace {

const std::map<std::uint64_t, std::string>& system_call_names() {
    static const std::map<std::uint64_t, std::string> kNames = {
#include "system_call_names.inc"
    };
    return kNames;
}

} // namespace

std::string name_of(std::uint64_t system_call) {
    const auto found = system_call_names().find(system_call);
    return found == system_call_names().end() ? std::to_string(system_call) : found->second;
}

std::uint64_t number_of(std::string_view name) {
    for (const auto& [number, known] : system_call_names())
        if (known == name) return number;
    throw base::Error(concat("no system call is called ", name));
}

} // namespace rdmanet::test
