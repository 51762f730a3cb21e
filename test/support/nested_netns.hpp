// A network namespace that a pod has made for itself.
#pragma once

#include "support/node.hpp"

#include <string>

namespace rdmanet::test {

/// Until the end of the scope: a process keeps it that nobody else knows.
class NestedNetns {
public:
    explicit NestedNetns(const Pod& pod);
    NestedNetns(const NestedNetns&) = delete;
    NestedNetns& operator=(const NestedNetns&) = delete;
    ~NestedNetns() { destroy(); }

    /// An interface of the pod, which is up then.
    void take(const Pod& pod, const std::string& ifname) const;
    /// "LOWER_UP", or nothing.
    [[nodiscard]] std::string carrier(const std::string& ifname) const;
    void destroy() const;

private:
    std::string pid_;
};

} // namespace rdmanet::test
