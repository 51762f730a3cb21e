#include "state_place.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/kernel/mountinfo.hpp>

#include <sys/stat.h>

#include <cerrno>

namespace rdmanet::attach {

using base::concat;

namespace {

/// Whether the node may have this file system, then under another path. A runtime mounts a container's root on the
/// node, too, but what is there ends with the container.
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

std::string find_fault_of_state_place(const std::string& state_directory) {
    struct stat ours {};
    struct stat theirs {};
    if (::stat(state_directory.c_str(), &ours) != 0) return {};
    const int result = ::stat(concat("/proc/1/root", state_directory).c_str(), &theirs);
    if (result != 0 && (errno != ENOENT || may_be_on_node(ours.st_dev))) return {};
    if (result == 0 && ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino) return {};
    return concat("state directory ", state_directory,
                  " is not the node's but this container's, and what it says of pods ends "
                  "with the container: mount the node's /run into it");
}

} // namespace rdmanet::attach
