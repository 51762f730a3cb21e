#include "directory_lock.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/file.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/process.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/base/wait.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <optional>

namespace rdmanet::ipam {

using base::quoted;

namespace {

constexpr std::size_t kMostBytes = std::size_t{4} << 20U;

/// "MAJOR:MINOR:INODE", as in /proc/locks (fs/locks.c, lock_get_status).
std::string file_in_locks(const struct stat& status) {
    std::array<char, 64> text{};
    const int length = std::snprintf(text.data(), text.size(), " %02x:%02x:%llu ", major(status.st_dev),
                                     minor(status.st_dev), static_cast<unsigned long long>(status.st_ino));
    return {text.data(), static_cast<std::size_t>(length)};
}

/// The process of a line "1: POSIX  ADVISORY  WRITE 123 00:1a:456 1073741825 1073741825".
std::optional<int> writer_in(std::string_view line, std::string_view file) {
    const auto at = line.find(file);
    if (at == std::string_view::npos || line.find(" WRITE ") == std::string_view::npos) return std::nullopt;
    const auto begin = line.rfind(' ', at - 1);
    return base::parse_integer<int>(line.substr(begin + 1, at - begin - 1));
}

std::optional<int> find_writer(const std::string& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) return std::nullopt;
    const std::string file = file_in_locks(status);
    const std::string locks = base::read_file("/proc/locks", kMostBytes);
    for (std::size_t at = 0; at < locks.size();) {
        const auto end = std::min(locks.find('\n', at), locks.size());
        const auto pid = writer_in(std::string_view(locks).substr(at, end - at), file);
        if (pid && *pid > 0 && *pid != ::getpid()) return pid;
        at = end + 1;
    }
    return std::nullopt;
}

/// `, which process 123 (rdmanet) has locked`, or nothing if that can't be told. Reads /proc/locks, because
/// flock(2) does not say who has a lock.
std::string lock_holder_of(const std::string& path) try {
    const auto pid = find_writer(path);
    if (!pid) return {};
    return fmt::format(", which {} has locked", base::describe_process(*pid));
} catch (const base::Error&) {
    return {}; // no /proc, or the holder has just gone
}

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
