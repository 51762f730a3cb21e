// What the kernel says of the calling thread's network namespace, asked through netlink: in the guest a process of `ip`
// or `rdma` takes longer than all of its questions.
#pragma once

#include "support/snapshot.hpp"

#include <string>
#include <vector>

namespace rdmanet::test {

struct NetnsLines {
    /// A line each: links, addresses, routes, permanent neighbours of IPv4, and rules.
    std::vector<std::string> lines;
    /// What the kernel will change by itself: links whose carrier it has not reported or whose port is not ready, IPv6
    /// addresses that it is still checking, and links that will get a link-local address.
    std::vector<std::string> pending;
};

[[nodiscard]] NetnsLines netns_lines(Numbers numbers);

/// RDMA's mode, devices and ports. Empty if the kernel has no RDMA.
[[nodiscard]] std::vector<std::string> rdma_lines(Numbers numbers);

/// Sets RDMA's mode. False if the kernel refuses that now.
[[nodiscard]] bool allows_rdma_mode(bool shared);

} // namespace rdmanet::test
