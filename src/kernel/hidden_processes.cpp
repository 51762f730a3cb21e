#include "hidden_processes.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/kernel/mountinfo.hpp>

#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <string_view>
#include <vector>

namespace rdmanet::kernel {
namespace {

/// The value of "KEY=VALUE" among options separated by commas; empty if it is absent.
std::string_view value_of(std::string_view key, std::string_view options) {
    while (!options.empty()) {
        const std::string_view option = options.substr(0, options.find(','));
        if (option.starts_with(key)) return option.substr(key.size());
        options.remove_prefix(std::min(options.size(), option.size() + 1));
    }
    return {};
}

/// Whether the caller is in the group of the mount option gid: in_group_p(), kernel/groups.c. Without the option it
/// is root's group.
bool is_member(gid_t group) {
    const int count = ::getgroups(0, nullptr);
    std::vector<gid_t> groups(count > 0 ? static_cast<std::size_t>(count) : 0);
    if (::getgroups(count, groups.data()) != count) groups.clear();
    return group == ::getegid() || std::find(groups.begin(), groups.end(), group) != groups.end();
}

/// Whether the caller has CAP_SYS_PTRACE in its own user namespace.
bool may_trace() {
    __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {};
    if (::syscall(SYS_capget, &header, sets) != 0) return false;
    return (sets[CAP_TO_INDEX(CAP_SYS_PTRACE)].effective & CAP_TO_MASK(CAP_SYS_PTRACE)) != 0;
}

} // namespace

/// has_pid_permissions(), fs/proc/base.c: who may trace a process sees it, whatever the options. Members of the group
/// `gid` see processes that are "invisible" to others. A caller in its own user namespace has the capability there,
/// but does not see the first process. With "noaccess" processes are listed but cannot be examined, which the search
/// notices itself.
std::string find_reason_for_hidden_processes(const std::string& proc) {
    struct stat status {};
    if (::stat(proc.c_str(), &status) != 0) throw base::SystemError(fmt::format("stat {}", proc), errno);
    const std::string mountinfo = read_mountinfo(fmt::format("{}/self", proc)).value_or(std::string());
    const std::string_view mount = find_mount(status.st_dev, mountinfo);
    const std::string_view options = mount.substr(mount.rfind(' ') + 1); // the last word
    const std::string_view hidepid = value_of("hidepid=", options);
    const bool is_from_strangers = hidepid == "invisible" || hidepid == "2"; // numbers before Linux 5.8
    const bool is_from_all = hidepid == "ptraceable" || hidepid == "4";
    if (!is_from_strangers && !is_from_all) return {};
    const auto group = base::parse_integer<gid_t>(value_of("gid=", options)).value_or(0);
    const bool is_shown_all = may_trace() || (is_from_strangers && is_member(group));
    if (is_shown_all && ::access(fmt::format("{}/1", proc).c_str(), F_OK) == 0) return {};
    return fmt::format("/proc hides processes (mount options {}) that may be in its network namespace: run `rdmanet "
                       "gc` as root of the node with CAP_SYS_PTRACE, or `mount -o remount,hidepid=off /proc`",
                       options);
}

} // namespace rdmanet::kernel
