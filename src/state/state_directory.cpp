#include <rdmanet/state/state_directory.hpp>

#include <rdmanet/base/file.hpp>
#include <rdmanet/base/format.hpp>

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <utility>

namespace rdmanet::state {
namespace {

/// Whether a user other than root could change the directory. Its records say what rdmanet undoes as root.
std::string find_permission_fault(const struct stat& status, const std::string& directory) {
    if (status.st_uid != 0 && status.st_uid != ::geteuid())
        return fmt::format("belongs to user {0}, who could change its records: look through {1}/attachments, then run "
                           "`chown -R root {1}`",
                           status.st_uid, directory);
    if ((status.st_mode & S_IWOTH) != 0)
        return fmt::format("can be written by every user, so any user could change its records: run `chmod o-w {}`",
                           directory);
    if ((status.st_mode & S_IWGRP) != 0 && status.st_gid != 0)
        return fmt::format("can be written by group {}, whose members could change its records: run `chmod g-w {}`",
                           status.st_gid, directory);
    return {};
}

/// A file system without a limit says that it has no blocks, or no inodes, at all.
std::string find_space_fault(const std::string& directory) {
    struct statvfs system {};
    if (::statvfs(directory.c_str(), &system) != 0) return {};
    if (system.f_blocks != 0 && system.f_bfree == 0)
        return "is on a file system without free space: free some space there";
    if (system.f_files != 0 && system.f_ffree == 0)
        return "is on a file system without free inodes: remove some files there";
    return {};
}

std::string directory_of(const std::string& path) {
    const auto slash = path.rfind('/');
    if (slash == std::string::npos) return ".";
    return slash == 0 ? "/" : path.substr(0, slash);
}

std::string find_kind_fault(const struct stat& status) {
    return S_ISDIR(status.st_mode) ? "" : "is not a directory: remove it, and rdmanet creates the directory";
}

/// What to do if a file in the directory could not be written for this reason. Empty for reasons that lie elsewhere:
/// the process or the node has no more descriptors, locks or memory, or /proc is not mounted.
std::string fix_of(int errno_value, const std::string& directory) {
    switch (errno_value) {
    case EIO: return "look into `dmesg`, and repair its file system";
    case ENOSPC: return "free some space or inodes there";
    case EDQUOT: return "free some space there, or raise the quota";
    case EROFS: return fmt::format("remount its file system writable (`findmnt -T {}` shows it)", directory);
    case EACCES:
    case EPERM: return "make it writable for root";
    case ENOTDIR: return "remove the file that is in the place of a directory";
    case EISDIR: return "remove the directory that is in the place of that file";
    case ELOOP: return "remove the symbolic link that is in the place of that file";
    default: return {};
    }
}

/// `directory` is the state directory, or the nearest existing one above it, in which rdmanet would create it.
std::string find_fault_of_writes(const std::string& directory) {
    if (::access(directory.c_str(), W_OK | X_OK) == 0) return find_space_fault(directory);
    const int why = errno;
    const std::string fix = fix_of(why, directory);
    if (fix.empty()) return {};
    return fmt::format("cannot be written ({}): {}", base::errno_text(why), fix);
}

std::string named(const std::string& directory, const std::string& fault) {
    return fault.empty() ? fault : fmt::format("state directory {} {}", directory, fault);
}

/// `writes_only` leaves out whether another user than root could change the directory.
enum class Look : std::uint8_t { whole, writes_only };

std::string find_fault(const std::string& directory, Look look) {
    struct stat status {};
    std::string nearest = directory;
    while (::stat(nearest.c_str(), &status) != 0) {
        if (errno != ENOENT && errno != ENOTDIR)
            return named(directory,
                         fmt::format("cannot be read ({}): make it readable for root", base::errno_text(errno)));
        nearest = directory_of(nearest);
    }
    const bool exists = nearest == directory;
    std::string fault = find_kind_fault(status);
    if (fault.empty() && exists && look == Look::whole) fault = find_permission_fault(status, directory);
    if (fault.empty()) fault = find_fault_of_writes(nearest);
    if (fault.empty() || exists) return named(directory, fault);
    return named(directory, fmt::format("cannot be created, because {} {}", nearest, fault));
}

} // namespace

std::string find_directory_fault(const std::string& directory) {
    return find_fault(directory, Look::whole);
}

std::string find_write_fault(const std::string& directory) {
    return find_fault(directory, Look::writes_only);
}

void require_directory(const std::string& directory) {
    if (std::string fault = find_directory_fault(directory); !fault.empty()) throw DirectoryError(std::move(fault));
}

void require_other_cause(const std::string& directory, const base::SystemError& error) {
    if (const std::string fix = fix_of(error.errno_value(), directory); !fix.empty())
        throw DirectoryError(
            fmt::format("state directory {} cannot be written ({}): {}", directory, error.what(), fix));
}

} // namespace rdmanet::state
