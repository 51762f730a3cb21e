// sysfs of another network namespace.
#pragma once

#include <rdmanet/base/unique_fd.hpp>
#include <rdmanet/kernel/netns.hpp>

#include <string>
#include <utility>

namespace rdmanet::kernel {

/// A sysfs mount shows the net and RDMA devices of the namespace that it was made in. This mount is made in `netns`
/// and attached to no directory (fsopen(2), Linux 5.2): no other process sees it, and it ends with the object.
class NetnsSysfs {
public:
    /// Throws base::SystemError: EPERM without CAP_SYS_ADMIN, ENOSYS from older kernels.
    explicit NetnsSysfs(const Netns& netns);

    /// A directory in it, for functions that take a root: path("class/infiniband").
    [[nodiscard]] std::string path(std::string_view directory) const;

private:
    base::UniqueFd mount_;
};

} // namespace rdmanet::kernel
