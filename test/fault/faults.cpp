#include "faults.hpp"

#include "support/concat.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <set>

namespace rdmanet::test {
namespace {

/// The errors in each call's manual page that a correct program may meet: no memory, no descriptors, a full or
/// failing disk, a busy object, a refusal by a security module, a signal.
const std::map<std::string, std::vector<int>>& plausible_errors() {
    static const std::map<std::string, std::vector<int>> kErrors = {
        {"openat", {EMFILE, EACCES}},
        {"socket", {EMFILE, ENOBUFS}},
        {"setsockopt", {ENOBUFS}},
        {"getsockopt", {ENOBUFS}},
        {"bind", {ENOMEM}},
        {"sendto", {ENOBUFS, EPERM}},
        {"sendmsg", {ENOBUFS, EPERM}},
        {"recvfrom", {ENOBUFS, EINTR}},
        {"recvmsg", {ENOBUFS, EINTR}},
        {"poll", {ENOMEM, EINTR}},
        {"ppoll", {ENOMEM, EINTR}},
        {"pipe2", {EMFILE}},
        {"dup3", {EMFILE}},
        {"clone", {EAGAIN}},
        {"clone3", {EAGAIN}},
        {"vfork", {EAGAIN}},
        {"fork", {EAGAIN}},
        {"wait4", {EINTR, ECHILD}},
        {"waitid", {EINTR, ECHILD}},
        {"setns", {EPERM, ENOMEM}},
        {"unshare", {EPERM}},
        {"read", {EIO, EINTR}},
        {"pread64", {EIO}},
        {"write", {ENOSPC, EINTR}},
        {"pwrite64", {ENOSPC, EIO}},
        {"fsync", {EIO, ENOSPC}},
        {"fdatasync", {EIO, ENOSPC}},
        {"ftruncate", {EIO}},
        {"rename", {EIO, ENOSPC}},
        {"unlink", {EIO, EBUSY}},
        {"mkdir", {ENOSPC, EACCES}},
        {"rmdir", {EBUSY}},
        {"newfstatat", {EIO, EACCES}},
        {"fstatfs", {EIO}},
        {"ioctl", {EIO}},
        {"flock", {EWOULDBLOCK, ENOLCK}},
        {"fcntl", {EAGAIN, ENOLCK}},
        {"fchown", {EPERM}},
        {"brk", {ENOMEM}},
        {"mmap", {ENOMEM}},
        {"mprotect", {ENOMEM}},
        {"close", {EIO}}, // closes the descriptor nevertheless: the call is made, then reported as failed
        {"clock_nanosleep", {EINTR}},
        {"nanosleep", {EINTR}},
        {"getrandom", {ENOSYS}},
    };
    return kErrors;
}

/// Calls that never fail here, and why.
const std::map<std::string, const char*>& exclusions() {
    static const std::map<std::string, const char*> kExclusions = {
        {"exit_group", "doesn't return"},
        {"exit", "doesn't return"},
        {"rt_sigreturn", "doesn't return"},
        {"execve", "the program that is tested has not begun"},
        {"getpid", "cannot fail"},
        {"gettid", "cannot fail"},
        {"getppid", "cannot fail"},
        {"getuid", "cannot fail"},
        {"geteuid", "cannot fail"},
        {"getgid", "cannot fail"},
        {"getegid", "cannot fail"},
        {"umask", "cannot fail"},
        {"rt_sigaction", "fails only for numbers that aren't signals"},
        {"rt_sigprocmask", "fails only for bad arguments"},
        {"munmap", "fails only for bad arguments; what follows can't depend on it"},
        {"madvise", "advice"},
        {"futex", "wakes; the program has one thread"},
        {"kill", "fails only if the process is gone, which is what is wanted"},
    };
    return kExclusions;
}

/// fcntl() can only fail for a lock request. Reading a descriptor's flags fails only if it is closed.
bool is_lock_request(const SystemCall& call) {
    const auto operation = static_cast<int>(call.arguments[1]);
    return operation == F_SETLK || operation == F_SETLKW || operation == F_OFD_SETLK || operation == F_OFD_SETLKW;
}

bool can_fail(const SystemCall& call) {
    const std::string name = name_of(call.number);
    return !exclusions().contains(name) && (name != "fcntl" || is_lock_request(call));
}

std::vector<int> errors_of(const std::string& name) {
    const auto found = plausible_errors().find(name);
    return found == plausible_errors().end() ? std::vector<int>{EIO} : found->second;
}

/// Before main() only libc runs, and no program could answer an error there. The plugin's first call ignores SIGPIPE.
auto begin_of_main(const std::vector<SystemCall>& calls) {
    return std::find_if(calls.begin(), calls.end(),
                        [](const SystemCall& call) { return name_of(call.number) == "rt_sigaction"; });
}

} // namespace

std::vector<Fault> kills_at(const std::vector<SystemCall>& calls) {
    std::vector<Fault> faults;
    for (const SystemCall& call : calls) faults.push_back({.number = call.number, .occurrence = call.occurrence});
    return faults;
}

std::vector<Fault> errors_at(const std::vector<SystemCall>& calls) {
    std::vector<Fault> faults;
    for (auto call = begin_of_main(calls); call != calls.end(); ++call) {
        if (!can_fail(*call)) continue;
        const std::string name = name_of(call->number);
        for (const int error : errors_of(name))
            faults.push_back({.number = call->number,
                              .occurrence = call->occurrence,
                              .error = error,
                              .before = name == "close" ? BeforeFailing::execute : BeforeFailing::nothing});
    }
    return faults;
}

bool is_same_call(const Fault& one, const Fault& other) {
    return one.number == other.number && one.occurrence == other.occurrence;
}

std::string describe(const Fault& fault) {
    return fault.error ? concat(::strerrorname_np(*fault.error), " from") : std::string("killed before");
}

} // namespace rdmanet::test
