#include "node_directory.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/kernel/mountinfo.hpp>

#include <sys/stat.h>

#include <cerrno>

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

} // namespace

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
