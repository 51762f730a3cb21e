#include "state_place.hpp"

#include <rdmanet/base/text.hpp>

#include <sys/stat.h>

#include <cerrno>

namespace rdmanet::attach {

using base::concat;

std::string find_fault_of_state_place(const std::string& state_directory) {
    struct stat ours {};
    struct stat theirs {};
    if (::stat(state_directory.c_str(), &ours) != 0) return {};
    const int result = ::stat(concat("/proc/1/root", state_directory).c_str(), &theirs);
    if (result != 0 && errno != ENOENT) return {};
    if (result == 0 && ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino) return {};
    return concat("state directory ", state_directory,
                  " is not the node's but this container's, and what it says of pods ends "
                  "with the container: mount the node's /run into it");
}

} // namespace rdmanet::attach
