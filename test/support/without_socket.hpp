// A kernel that lacks a kind of sockets, as one without IPv6 (ipv6.disable=1) or without RDMA.
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <array>
#include <cstddef>
#include <thread>

namespace rdmanet::test {

/// Runs `act`, which must not throw, in a thread in which socket() fails if its argument of this index has this value.
/// False if the kernel cannot do that.
template <class Act>
[[nodiscard]] bool run_without_socket(unsigned index, unsigned value, unsigned error, Act act) {
    const auto argument = static_cast<unsigned>(offsetof(seccomp_data, args) + index * sizeof(__u64));
    std::array filter{sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                      sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_socket, 0, 3),
                      sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument),
                      sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1),
                      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
                      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const sock_fprog program{.len = filter.size(), .filter = filter.data()};
    bool is_set = false;
    std::thread([&] {
        is_set = ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
                 ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
        if (is_set) act();
    }).join();
    return is_set;
}

} // namespace rdmanet::test
