// With CNI_COMMAND set this is a CNI plugin, otherwise a command for a person.
#include "cli.hpp"
#include "plugin.hpp"
#include "version.hpp"

#include <rdmanet/cni/version_output.hpp>

#include <fcntl.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <string_view>
#include <utility>

namespace rdmanet::cmd {
namespace {

/// If the caller closed a standard descriptor, the next file would get its number, and the journal would receive the
/// output for the caller. So /dev/null takes its place, opened so that reading standard input and writing standard
/// output fail.
void occupy_standard_descriptors() noexcept {
    constexpr std::pair<int, int> kDescriptors[] = {
        {STDIN_FILENO, O_WRONLY}, {STDOUT_FILENO, O_RDONLY}, {STDERR_FILENO, O_WRONLY}};
    for (const auto& [fd, access] : kDescriptors)
        if (::fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            (void)::open("/dev/null", access); // the lowest free number is this one
}

/// A call needs about 400 KiB for some milliseconds. So the C library gets them at once, and gives back none: otherwise
/// it asks the kernel about four times.
void take_memory_at_once() noexcept {
    constexpr int kBytes = 512 << 10;
    (void)::mallopt(M_TOP_PAD, kBytes);
    (void)::mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
}

/// For plugin calls and for commands. A reader that ends, or a limit on file sizes, makes write(2) fail. A signal would
/// kill the process halfway.
void prepare_process() noexcept {
    take_memory_at_once();
    (void)std::signal(SIGPIPE, SIG_IGN); // write(2) fails with EPIPE instead
    (void)std::signal(SIGXFSZ, SIG_IGN); // write(2) fails with EFBIG instead
    occupy_standard_descriptors();
}

constexpr std::size_t kUsual = std::size_t{8}
                               << 20U;            // what Linux starts with (include/uapi/linux/resource.h, _STK_LIM)
constexpr rlim_t kLargeEnough = rlim_t{1} << 20U; // far more than the deepest configuration needs
/// Below the stack, so that an overflow ends the process and overwrites nothing.
constexpr std::size_t kGuard = std::size_t{64} << 10U;

// The document if the stack limit is too small and there is no memory for another stack.
constexpr std::string_view kMessage = "rdmanet: the stack limit is too small: set it to 1024 KiB (ulimit -s 1024)\n";
constexpr std::string_view kDocument = "{\"cniVersion\":\"1.1.0\",\"code\":999,\"msg\":\"the caller's stack limit is "
                                       "too small: set it to 1024 KiB (ulimit -s "
                                       "1024), or raise its memory limit\"}\n";

struct Call {
    int (*run)(int, char**);
    int argc;
    char** argv;
    int status;
};
Call* g_call = nullptr; // makecontext(3) passes only integers

void serve_call() {
    g_call->status = g_call->run(g_call->argc, g_call->argv);
}

/// What may not be asked after, under a system call filter, may be small.
bool is_small() noexcept {
    rlimit limit{};
    return ::getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur < kLargeEnough;
}

/// Not a thread: namespaces are examined through /proc/self, which belongs to the first thread.
bool run_on_own_stack(Call& call) noexcept {
    void* const memory =
        ::mmap(nullptr, kUsual, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED || ::mprotect(memory, kGuard, PROT_NONE) != 0) return false;
    static ucontext_t here; // nearly 1 KiB each, on a stack of perhaps four
    static ucontext_t there;
    if (::getcontext(&there) != 0) return false;
    there.uc_stack.ss_sp = memory;
    there.uc_stack.ss_size = kUsual;
    there.uc_link = &here;
    g_call = &call;
    ::makecontext(&there, serve_call, 0);
    return ::swapcontext(&here, &there) == 0;
}

/// Under a small stack limit (`ulimit -s`) it runs on a stack of its own: raising a hard limit needs CAP_SYS_RESOURCE,
/// which root in a container lacks.
int run_with_enough_stack(int (*run)(int, char**), int argc, char** argv) noexcept {
    if (!is_small()) return run(argc, argv);
    Call call{.run = run, .argc = argc, .argv = argv, .status = 1};
    if (run_on_own_stack(call)) return call.status;
    const char* command = std::getenv("CNI_COMMAND");
    const bool is_plugin = command != nullptr && *command != '\0';
    (void)!(is_plugin ? ::write(STDOUT_FILENO, kDocument.data(), kDocument.size())
                      : ::write(STDERR_FILENO, kMessage.data(), kMessage.size()));
    return 1;
}

int run(int argc, char** argv) {
    const char* command = std::getenv("CNI_COMMAND");
    if (command != nullptr && *command != '\0') return run_plugin();
    if (argc > 1) return run_cli(argc, argv);
    // The output of a plugin without a command (cni, pkg/skel). It goes to standard error, because a person may read
    // it.
    const std::string about = cni::about_text("rdmanet", kVersion);
    return ::write(STDERR_FILENO, about.data(), about.size()) < 0 ? 1 : 0;
}

} // namespace
} // namespace rdmanet::cmd

int main(int argc, char** argv) {
    rdmanet::cmd::prepare_process();
    return rdmanet::cmd::run_with_enough_stack(rdmanet::cmd::run, argc, argv);
}
