#include "support/kernel_user.hpp"
#include "support/concat.hpp"

#include "support/process.hpp"

#include <cstdlib>

namespace rdmanet::test {

std::string load_kernel_user(const std::string& parameters) {
    return concat("insmod $(dirname ", std::getenv("RDMANET_HARNESS_MODULE"), ")/simrnic_user.ko ", parameters);
}

KernelUser::KernelUser(const std::string& parameters) {
    shell(load_kernel_user(parameters));
}

KernelUser::~KernelUser() {
    (void)succeeds("rmmod simrnic_user");
}

} // namespace rdmanet::test
