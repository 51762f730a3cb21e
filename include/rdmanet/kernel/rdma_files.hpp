// The character devices that programs use to reach RDMA devices: /dev/infiniband.
#pragma once

#include <string>
#include <vector>

namespace rdmanet::kernel {

struct RdmaFile {
    std::string name;   // in /dev/infiniband: "uverbs0", "umad0", "issm0", "rdma_cm"
    std::string device; // the RDMA device's name; empty for "rdma_cm", which serves all of them
    unsigned port = 0;  // from 1; 0: the whole device
};

/// All of the machine: sysfs shows them in every namespace, also for RDMA devices in other namespaces. Netlink
/// (RDMA_NLDEV_CMD_GET_CHARDEV) would load missing modules. `root` is the directory of the classes. Throws
/// base::SystemError.
[[nodiscard]] std::vector<RdmaFile> list_rdma_files(const std::string& root = "/sys/class");

} // namespace rdmanet::kernel
