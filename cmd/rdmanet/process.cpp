#include "process.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <utility>

namespace rdmanet::cmd {
namespace {

/// The next file that is opened would get the number of a descriptor that the caller closed, and the journal what was
/// meant for the caller. In its place comes one that refuses: reading standard input, writing standard output.
void occupy_standard_descriptors() noexcept {
    constexpr std::pair<int, int> kDescriptors[] = {
        {STDIN_FILENO, O_WRONLY}, {STDOUT_FILENO, O_RDONLY}, {STDERR_FILENO, O_WRONLY}};
    for (const auto& [fd, access] : kDescriptors)
        if (::fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            (void)::open("/dev/null", access); // the lowest free number is this one
}

} // namespace

void prepare_process() noexcept {
    (void)std::signal(SIGPIPE, SIG_IGN); // write(2) says EPIPE instead
    (void)std::signal(SIGXFSZ, SIG_IGN); // write(2) says EFBIG instead
    occupy_standard_descriptors();
}

} // namespace rdmanet::cmd
