// A kernel module that uses RDMA devices: the harness's simrnic_user.
#pragma once

#include <string>

namespace rdmanet::test {

/// Loads the module with these parameters, and unloads it at the end. The module exists where the software NIC does.
class KernelUser {
public:
    explicit KernelUser(const std::string& parameters);
    KernelUser(const KernelUser&) = delete;
    KernelUser& operator=(const KernelUser&) = delete;
    ~KernelUser();
};

} // namespace rdmanet::test
