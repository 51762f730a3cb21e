#include "stack.hpp"

#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <string_view>

namespace rdmanet::cmd {
namespace {

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

} // namespace

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

} // namespace rdmanet::cmd
