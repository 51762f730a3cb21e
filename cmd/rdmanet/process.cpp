#include "process.hpp"

#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <limits>
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

} // namespace

void prepare_process() noexcept {
    take_memory_at_once();
    (void)std::signal(SIGPIPE, SIG_IGN); // write(2) fails with EPIPE instead
    (void)std::signal(SIGXFSZ, SIG_IGN); // write(2) fails with EFBIG instead
    occupy_standard_descriptors();
}

} // namespace rdmanet::cmd
