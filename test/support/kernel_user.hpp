// A kernel module that uses RDMA devices: the harness's simrnic_user.
#pragma once

#include <string>

namespace rdmanet::test {

/// The module with these parameters; unloaded at the end. It is there where the software NIC is.
class KernelUser {
public:
    explicit KernelUser(const std::string& parameters);
    KernelUser(const KernelUser&) = delete;
    KernelUser& operator=(const KernelUser&) = delete;
    ~KernelUser();
};

} // namespace rdmanet::test
