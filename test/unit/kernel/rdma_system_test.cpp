// What kernels of several ages say of RDMA as a whole.
#include "message.hpp"
#include "rdma_parse.hpp"

#include <catch2/catch.hpp>

#include <rdma/rdma_netlink.h>

#include <cerrno>

namespace rdmanet::kernel {
namespace {

Message answer_of_kernel() {
    return {RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_SYS_GET), 0};
}

RdmaSystem parse(Message& message) {
    return parse_rdma_system({.errno_value = 0, .kernel_message = {}, .message = &message.header()});
}

} // namespace

TEST_CASE("the RDMA mode and copies on fork are what the kernel says") {
    Message today = answer_of_kernel();
    today.put_u8(RDMA_NLDEV_SYS_ATTR_NETNS_MODE, 0);
    today.put_u8(RDMA_NLDEV_SYS_ATTR_COPY_ON_FORK, 1);
    CHECK(parse(today).netns_mode == RdmaNetnsMode::exclusive);
    CHECK(parse(today).copies_on_fork);

    Message early = answer_of_kernel(); // Linux 5.3
    early.put_u8(RDMA_NLDEV_SYS_ATTR_NETNS_MODE, 1);
    CHECK(parse(early).netns_mode == RdmaNetnsMode::shared);
    CHECK_FALSE(parse(early).copies_on_fork);
}

TEST_CASE("a kernel without RDMA modes shares its devices, and is told from one in mode shared") {
    Message silent = answer_of_kernel();
    CHECK_FALSE(parse(silent).netns_mode);
    CHECK(parse(silent).mode() == RdmaNetnsMode::shared);
    for (const int error : {0, EINVAL}) { // an acknowledgement alone; a number that the kernel does not know
        const RdmaSystem system = parse_rdma_system({.errno_value = error, .kernel_message = {}});
        CHECK_FALSE(system.netns_mode);
        CHECK_FALSE(system.copies_on_fork);
    }
    CHECK_THROWS_AS((void)parse_rdma_system({.errno_value = EPERM, .kernel_message = {}}), NetlinkError);
}

} // namespace rdmanet::kernel
