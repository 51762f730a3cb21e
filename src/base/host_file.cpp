#include <rdmanet/base/host_file.hpp>

#include <rdmanet/base/directory.hpp>
#include <rdmanet/base/file.hpp>
#include <rdmanet/base/format.hpp>

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>

namespace rdmanet::base {
namespace {

constexpr std::chrono::seconds kMostTime{2};

/// Opens `file` with O_PATH, which does not call the driver's open (open(2)). `resolve`: of openat2(2).
UniqueFd find_at(int directory, const std::string& file, std::uint64_t resolve) {
    open_how how{};
    how.flags = O_PATH | O_CLOEXEC;
    how.resolve = resolve;
    constexpr int kAttempts = 10; // EAGAIN: something was renamed meanwhile (openat2(2))
    for (int attempt = 1;; ++attempt) {
        UniqueFd found(static_cast<int>(::syscall(SYS_openat2, directory, file.c_str(), &how, sizeof how)));
        if (found || errno != EAGAIN || attempt == kAttempts) return found;
    }
}

/// Before Linux 5.6, or forbidden by seccomp.
bool lacks_openat2() {
    return errno == ENOSYS || errno == EPERM;
}

UniqueFd find_on_host(const std::string& root, const std::string& file) {
    if (root.empty()) return UniqueFd(::open(file.c_str(), O_PATH | O_CLOEXEC));
    const UniqueFd top(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!top) return {};
    UniqueFd found = find_below(top, file);
    if (!found && lacks_openat2()) return UniqueFd(::open(fmt::format("{}{}", root, file).c_str(), O_PATH | O_CLOEXEC));
    return found;
}

/// What the kernel calls the open file. Empty if that cannot be found out.
std::string kernel_path_of(const UniqueFd& fd) {
    return link_target_of(fmt::format("/proc/self/fd/{}", fd.get()));
}

/// As RESOLVE_BENEATH, decided by where the opened file is. Empty, with EXDEV, for one that lies elsewhere.
UniqueFd find_beneath_without_openat2(const UniqueFd& directory, const std::string& file) {
    UniqueFd found(::openat(directory.get(), file.c_str(), O_PATH | O_CLOEXEC));
    const std::string top = kernel_path_of(directory);
    if (!found || (!top.empty() && kernel_path_of(found).starts_with(top + '/'))) return found;
    found.reset();
    errno = EXDEV;
    return {};
}

/// Throws OutsideError.
UniqueFd find_inside(const std::string& root, const std::string& directory, const std::string& file) {
    const std::string inside = fmt::format("{}/", directory);
    if (!file.starts_with(inside)) throw OutsideError(fmt::format("{} is not below {}", file, directory));
    const UniqueFd top = find_on_host(root, inside);
    if (!top) return {};
    const std::string rest = file.substr(inside.size());
    UniqueFd found = find_at(top.get(), rest, RESOLVE_BENEATH);
    if (!found && lacks_openat2()) found = find_beneath_without_openat2(top, rest);
    if (!found && errno == EXDEV)
        throw OutsideError(fmt::format("{} leads out of {} by a link: copy the file there", file, directory));
    return found;
}

/// Files of these may wait for somebody, have no end, or do something when they are read.
bool is_on_unusual_file_system(const UniqueFd& fd) {
    struct statfs file_system {};
    if (::fstatfs(fd.get(), &file_system) != 0) return true;
    for (const long type : {PROC_SUPER_MAGIC, SYSFS_MAGIC, TRACEFS_MAGIC, DEBUGFS_MAGIC, FUSE_SUPER_MAGIC})
        if (file_system.f_type == type) return true;
    return false;
}

} // namespace

UniqueFd find_below(const UniqueFd& root, const std::string& file) {
    return find_at(root.get(), file, RESOLVE_IN_ROOT);
}

std::optional<std::string> read_host_file_if_exists(const std::string& root, const std::string& file, std::size_t most,
                                                    const std::string& directory) {
    const UniqueFd place = directory.empty() ? find_on_host(root, file) : find_inside(root, directory, file);
    if (!place && (errno == ENOENT || errno == ENAMETOOLONG)) return std::nullopt;
    struct stat status {};
    if (!place || ::fstat(place.get(), &status) != 0) throw SystemError(fmt::format("open {}", file), errno);
    if (!S_ISREG(status.st_mode)) throw Error(fmt::format("{} is not a regular file", file));
    if (is_on_unusual_file_system(place))
        throw Error(fmt::format("{} is on a file system of the kernel or of a program (proc, sysfs, tracefs, debugfs, "
                                "FUSE), where reading may never end: copy the file to a disk",
                                file));
    // O_NONBLOCK: another program's lease on the file is not waited for (fcntl(2), F_SETLEASE).
    const UniqueFd fd(::open(fmt::format("/proc/self/fd/{}", place.get()).c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    if (!fd) throw SystemError(fmt::format("open {}", file), errno);
    return read_all(fd.get(), most, file, Deadline::in(kMostTime));
}

} // namespace rdmanet::base
