// A cheap look at a network namespace, for tests that take hundreds of them.
#pragma once

#include <rdmanet/base/unique_fd.hpp>

#include <string>

namespace rdmanet::test {

/// Watches one namespace through its own socket. Snapshot shows more, and readable, but starts processes.
class NetnsView {
public:
    explicit NetnsView(const std::string& netns_path);

    /// Links, addresses, routes and rules in the kernel's format, without counters and ages. Equal if nothing
    /// changed. Not readable.
    [[nodiscard]] std::string bytes() const;

private:
    base::UniqueFd socket_;
};

} // namespace rdmanet::test
