// The character devices by which programs reach RDMA devices: /dev/infiniband.
#pragma once

#include <string>
#include <vector>

namespace rdmanet::kernel {

struct RdmaFile {
    std::string name;   // in /dev/infiniband: "uverbs0", "umad0", "issm0", "rdma_cm"
    std::string device; // the RDMA device's name; empty for "rdma_cm", which serves all of them
    unsigned port = 0;  // from 1; 0: the whole device
};

/// All of the machine, as sysfs shows them in every namespace, also those of RDMA devices in others. Netlink
/// (RDMA_NLDEV_CMD_GET_CHARDEV) would load the modules of those that are missing. `root` is where the classes are.
/// Throws base::SystemError.
[[nodiscard]] std::vector<RdmaFile> list_rdma_files(const std::string& root = "/sys/class");

} // namespace rdmanet::kernel
