#include "directory_lock.hpp"

#include "lock_holder.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/base/wait.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <chrono>

namespace rdmanet::ipam {

using base::quoted;

namespace {

/// Somebody may have removed the directory, and another process has made it again.
bool is_at(int fd, const std::string& directory) {
    struct stat own {};
    struct stat there {};
    return ::fstat(fd, &own) == 0 && ::stat(directory.c_str(), &there) == 0 && own.st_dev == there.st_dev &&
           own.st_ino == there.st_ino;
}

} // namespace

DirectoryLock::DirectoryLock(const std::string& directory, const base::Deadline& deadline) {
    do lock(directory, deadline);
    while (!is_at(fd_.get(), directory));
}

void DirectoryLock::lock(const std::string& directory, const base::Deadline& deadline) {
    fd_ = base::UniqueFd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd_) throw base::SystemError(fmt::format("open directory {}", quoted(directory)), errno);
    const auto try_to_lock = [&] {
        if (::flock(fd_.get(), LOCK_EX | LOCK_NB) == 0) return true;
        if (errno == EWOULDBLOCK || errno == EINTR) return false;
        throw base::SystemError(fmt::format("lock directory {}", quoted(directory)), errno);
    };
    // Only one file is changed under the lock.
    if (!base::wait_for(deadline, try_to_lock, {.longest = std::chrono::milliseconds{1}}))
        throw base::TimeoutError(
            fmt::format("waited for the lease store in {}{}", quoted(directory), lock_holder_of(directory)));
}

} // namespace rdmanet::ipam
