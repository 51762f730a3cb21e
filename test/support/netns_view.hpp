// A cheap look at a network namespace, for tests that take hundreds of them. Snapshot shows more.
#pragma once

#include <string>
#include <utility>

namespace rdmanet::test {

class NetnsView {
public:
    explicit NetnsView(std::string netns_path) : path_(std::move(netns_path)) {}

    /// Links, addresses, routes and rules, a line each. Equal if nothing changed.
    [[nodiscard]] std::string bytes() const;

private:
    std::string path_;
};

} // namespace rdmanet::test
