#include "directory_lock.hpp"

#include "lock_holder.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <chrono>
#include <thread>

namespace rdmanet::ipam {

using base::quoted;

DirectoryLock::DirectoryLock(const std::string& directory, const base::Deadline& deadline)
    : fd_(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    if (!fd_) throw base::SystemError(fmt::format("open directory {}", quoted(directory)), errno);
    while (::flock(fd_.get(), LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            throw base::SystemError(fmt::format("lock directory {}", quoted(directory)), errno);
        if (deadline.passed())
            throw base::TimeoutError(
                fmt::format("waited for the lease store in {}{}", quoted(directory), lock_holder_of(directory)));
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

} // namespace rdmanet::ipam
