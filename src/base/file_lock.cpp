#include <rdmanet/base/file_lock.hpp>

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/file.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/process.hpp>
#include <rdmanet/base/wait.hpp>

#include <fcntl.h>

#include <algorithm>
#include <cerrno>

namespace rdmanet::base {
namespace {

constexpr std::uint64_t kSlotBits = INT64_MAX >> 1U; // off_t is signed, and the range must not end past its maximum

struct flock byte_range(std::uint64_t slot, short type = F_WRLCK) {
    struct flock range {};
    range.l_type = type;
    range.l_whence = SEEK_SET;
    range.l_start = static_cast<off_t>(slot & kSlotBits);
    range.l_len = 1;
    return range;
}

std::string describe_holder(int fd, std::uint64_t slot) {
    struct flock range = byte_range(slot);
    if (::fcntl(fd, F_GETLK, &range) != 0 || range.l_type == F_UNLCK) return "another process";
    if (range.l_pid <= 0) return "a process of another pid namespace"; // fcntl(2), F_GETLK
    return describe_process(range.l_pid);
}

} // namespace

void FileLock::set(std::uint64_t slot, short type) {
    if (!fd_) return;
    const struct flock range = byte_range(slot, type);
    if (::fcntl(fd_.get(), F_SETLK, &range) != 0) throw SystemError("lock a byte of a lock file", errno);
}

void FileLock::show(std::uint64_t slot) {
    set(slot, F_WRLCK);
}

void FileLock::hide(std::uint64_t slot) {
    set(slot, F_UNLCK);
}

std::optional<std::int64_t> find_lock_holder(const std::string& path, std::uint64_t slot) {
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!fd && errno == ENOENT) return std::nullopt;
    if (!fd) throw SystemError(fmt::format("open lock file {}", path), errno);
    struct flock range = byte_range(slot);
    if (::fcntl(fd.get(), F_GETLK, &range) != 0)
        throw SystemError(fmt::format("find the holder of lock file {}", path), errno);
    if (range.l_type == F_UNLCK) return std::nullopt;
    return std::max<std::int64_t>(range.l_pid, 0);
}

FileLock::FileLock(const std::string& path, std::uint64_t slot, const std::string& what, const Deadline& deadline,
                   IfUnwritable if_unwritable)
    : fd_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)) {
    short type = F_WRLCK;
    if (!fd_ && if_unwritable == IfUnwritable::shared && takes_no_writes(errno)) {
        fd_ = UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
        if (!fd_ && (errno == ENOENT || errno == ENOTDIR)) return;
        type = F_RDLCK; // the only lock that a descriptor for reading may have (fcntl(2))
    }
    if (!fd_) throw SystemError(fmt::format("open lock file {}", path), errno);
    const struct flock range = byte_range(slot, type);
    const bool is_locked = wait_for(deadline, [&] {
        if (::fcntl(fd_.get(), F_SETLK, &range) == 0) return true;
        if (errno == EAGAIN || errno == EACCES || errno == EINTR) return false;
        throw SystemError(fmt::format("lock {}", path), errno);
    });
    if (!is_locked)
        throw LockTimeout(fmt::format("gave up waiting for {}, held by {}", what, describe_holder(fd_.get(), slot)));
}

} // namespace rdmanet::base
