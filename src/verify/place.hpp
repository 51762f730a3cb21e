// The network namespace of an endpoint, for libibverbs.
#pragma once

#include <rdmanet/kernel/netns.hpp>
#include <rdmanet/kernel/netns_sysfs.hpp>

#include <string>

namespace rdmanet::verify {

/// The calling thread is in a pod's network namespace until the end of the scope, and libibverbs reads that
/// namespace's sysfs. Device files are the caller's own: the kernel compares the namespace of a device with that of
/// the thread that opens it (rdma_dev_access_netns(), drivers/infiniband/core/device.c).
class Place {
public:
    /// Throws base::SystemError.
    explicit Place(const std::string& netns);

private:
    kernel::Netns netns_;
    kernel::NetnsSysfs sysfs_;
    kernel::NetnsScope scope_;
};

} // namespace rdmanet::verify
