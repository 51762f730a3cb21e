#include <rdmanet/kernel/netns_sysfs.hpp>

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/format.hpp>

#include <sys/mount.h>

#include <cerrno>

namespace rdmanet::kernel {
namespace {

base::UniqueFd mount_sysfs() {
    const base::UniqueFd context(::fsopen("sysfs", FSOPEN_CLOEXEC));
    if (!context) throw base::SystemError("open file system sysfs", errno);
    if (::fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0)
        throw base::SystemError("make file system sysfs", errno);
    base::UniqueFd mount(::fsmount(context.get(), FSMOUNT_CLOEXEC, MOUNT_ATTR_RDONLY));
    if (!mount) throw base::SystemError("mount sysfs", errno);
    return mount;
}

} // namespace

NetnsSysfs::NetnsSysfs(const Netns& netns) {
    const NetnsScope scope(netns); // sysfs_init_fs_context(), fs/sysfs/mount.c, uses the caller's
    mount_ = mount_sysfs();
}

std::string NetnsSysfs::path(std::string_view directory) const {
    return fmt::format("/proc/self/fd/{}/{}", mount_.get(), directory);
}

} // namespace rdmanet::kernel
