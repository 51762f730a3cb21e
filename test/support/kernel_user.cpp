#include "support/kernel_user.hpp"
#include "support/concat.hpp"

#include "support/process.hpp"

#include <cstdlib>

namespace rdmanet::test {

KernelUser::KernelUser(const std::string& parameters) {
    shell(concat("insmod $(dirname ", std::getenv("RDMANET_HARNESS_MODULE"), ")/simrnic_user.ko ", parameters));
}

KernelUser::~KernelUser() {
    (void)succeeds("rmmod simrnic_user");
}

} // namespace rdmanet::test
