#include "hidden_processes.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/file.hpp>
#include <rdmanet/base/text.hpp>

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <string_view>

namespace rdmanet::kernel {
namespace {

using base::concat;

/// Options of the file system that has this number, the last word of its line in proc_pid_mountinfo(5); empty if it
/// isn't mounted in what the caller sees.
std::string options_of(dev_t device, const std::string& mountinfo) {
    const std::string number = concat(' ', major(device), ':', minor(device), ' ');
    const std::size_t at = mountinfo.find(number);
    if (at == std::string::npos) return {};
    const std::size_t end = mountinfo.find('\n', at);
    const std::string_view line = std::string_view(mountinfo).substr(at, end == std::string::npos ? end : end - at);
    return std::string(line.substr(line.rfind(' ') + 1));
}

/// The value of "KEY=VALUE" among options that have commas between them; empty without it.
std::string_view value_of(std::string_view key, std::string_view options) {
    while (!options.empty()) {
        const std::string_view option = options.substr(0, options.find(','));
        if (option.starts_with(key)) return option.substr(key.size());
        options.remove_prefix(std::min(options.size(), option.size() + 1));
    }
    return {};
}

} // namespace

/// has_pid_permissions(), fs/proc/base.c. With "noaccess" processes are listed and can't be examined, which is found
/// out anyway. Members of the group `gid`, by default root's, are shown what is "invisible" to others.
std::string find_reason_for_hidden_processes(const std::string& proc) {
    struct stat status {};
    if (::stat(proc.c_str(), &status) != 0) throw base::SystemError(concat("stat ", proc), errno);
    const auto mountinfo = base::read_file_if_exists(concat(proc, "/self/mountinfo"), kMostMountinfoBytes);
    const std::string options = options_of(status.st_dev, mountinfo.value_or(std::string()));
    const std::string_view hidepid = value_of("hidepid=", options);
    const bool is_from_strangers = hidepid == "invisible" || hidepid == "2"; // numbers before Linux 5.8
    const bool is_from_all = hidepid == "ptraceable" || hidepid == "4";
    const bool is_member = base::parse_integer<gid_t>(value_of("gid=", options)).value_or(0) == ::getegid();
    if (!is_from_all && (!is_from_strangers || is_member)) return {};
    return concat("/proc hides processes (mount options ", options, ") that may be in its network namespace: run ",
                  "`mount -o remount,hidepid=off /proc` and try again");
}

} // namespace rdmanet::kernel
