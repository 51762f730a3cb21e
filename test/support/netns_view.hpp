// A cheap look at a network namespace, for tests that take hundreds of them.
#pragma once

#include <rdmanet/base/unique_fd.hpp>

#include <string>

namespace rdmanet::test {

/// Watches one namespace by a socket of its own. Snapshot looks at more and says it in words, but starts processes.
class NetnsView {
public:
    explicit NetnsView(const std::string& netns_path);

    /// Links, addresses, routes and rules as the kernel describes them, less counters and ages: equal if nothing
    /// changed, and not meant to be read.
    [[nodiscard]] std::string bytes() const;

private:
    base::UniqueFd socket_;
};

} // namespace rdmanet::test
