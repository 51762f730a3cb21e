// A kernel module that uses RDMA devices: the harness's simrnic_user.
#pragma once

#include <string>

namespace rdmanet::test {

/// The command that loads the module with these parameters. The module exists where the software NIC does.
[[nodiscard]] std::string load_kernel_user(const std::string& parameters);

/// Loads the module with these parameters, and unloads it at the end.
class KernelUser {
public:
    explicit KernelUser(const std::string& parameters);
    KernelUser(const KernelUser&) = delete;
    KernelUser& operator=(const KernelUser&) = delete;
    ~KernelUser();
};

} // namespace rdmanet::test
