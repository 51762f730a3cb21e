#include "state_directory.hpp"

#include <rdmanet/attach/state_directory.hpp>
#include <rdmanet/base/error.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/cni/error.hpp>
#include <rdmanet/kernel/mountinfo.hpp>

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace rdmanet::attach {

namespace {

/// Whether the node may have this file system at another path. The container's own root does not count: it is mounted
/// on the node, too, but ends with the container.
bool may_be_on_node(dev_t device) try {
    const auto mountinfo = kernel::read_mountinfo("/proc/1");
    if (!mountinfo) return true; // the first process is hidden
    struct stat root {};
    if (::stat("/", &root) == 0 && root.st_dev == device) return false;
    return !kernel::find_mount(device, *mountinfo).empty();
} catch (const base::SystemError&) {
    return true;
}

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

/// `directory` is the state directory, or the nearest existing one above it, in which rdmanet would create it.
std::string find_write_fault(const struct stat& status, const std::string& directory) {
    if (!S_ISDIR(status.st_mode)) return "is not a directory: remove it, and rdmanet creates the directory";
    if (::access(directory.c_str(), W_OK | X_OK) != 0)
        return fmt::format("cannot be written ({}): make it writable for root", base::errno_text(errno));
    return find_space_fault(directory);
}

} // namespace

std::string find_state_directory_fault(const std::string& state_directory) {
    struct stat status {};
    std::string nearest = state_directory;
    while (::stat(nearest.c_str(), &status) != 0) {
        if (errno != ENOENT && errno != ENOTDIR)
            return fmt::format("state directory {} cannot be read: {}", state_directory, base::errno_text(errno));
        nearest = directory_of(nearest);
    }
    std::string fault = find_write_fault(status, nearest);
    if (nearest == state_directory && fault.empty()) fault = find_permission_fault(status, nearest);
    if (fault.empty()) return {};
    if (nearest == state_directory) return fmt::format("state directory {} {}", state_directory, fault);
    return fmt::format("state directory {} cannot be created, because {} {}", state_directory, nearest, fault);
}

void require_state_directory(const std::string& state_directory) {
    if (std::string fault = find_state_directory_fault(state_directory); !fault.empty())
        throw cni::CniError(cni::ErrorCode::state, std::move(fault));
}

std::string why_state_directory_is_not_the_nodes(const std::string& state_directory) {
    struct stat ours {};
    struct stat theirs {};
    if (::stat(state_directory.c_str(), &ours) != 0) return {};
    const int result = ::stat(fmt::format("/proc/1/root{}", state_directory).c_str(), &theirs);
    if (result != 0 && (errno != ENOENT || may_be_on_node(ours.st_dev))) return {};
    if (result == 0 && ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino) return {};
    return fmt::format(
        "state directory {} is this container's and not the node's, so its records end with the container: "
        "mount the node's /run into the container",
        state_directory);
}

} // namespace rdmanet::attach
