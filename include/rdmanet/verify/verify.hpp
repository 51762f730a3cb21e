// Proves RDMA between two pods: messages, then bandwidth and latency of RDMA WRITE. The ends agree over a stream.
#pragma once

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/unique_fd.hpp>
#include <rdmanet/verify/endpoint.hpp>
#include <rdmanet/verify/report.hpp>

#include <chrono>
#include <functional>
#include <string>

namespace rdmanet::verify {

struct Options {
    std::chrono::seconds patience{30}; // for the whole test, without the wait for a client
    unsigned expected = 80;            // percent of the slower port's rate that the bandwidth must reach
    std::function<void(const std::string&)> progress = [](const std::string&) {}; // told what begins
};

/// One end of the test, over a stream to the other. Enters the endpoint's network namespace and comes back: call it in
/// a process with one thread, once, because libibverbs remembers the first sysfs that it has seen. What keeps RDMA
/// from working is in the report. Throws base::Error for what is wrong with this end's node (no rights, no file).
[[nodiscard]] Report run_test(Role role, const Endpoint& endpoint, base::UniqueFd stream, const Options& options);

/// Both ends on this node. The server's end is a process of its own, which ends with this one.
[[nodiscard]] Report run_pair(const Endpoint& client, const Endpoint& server, const Options& options);

} // namespace rdmanet::verify
