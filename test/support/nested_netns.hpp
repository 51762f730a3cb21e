// A network namespace that a pod made for itself.
#pragma once

#include "support/node.hpp"

#include <string>

namespace rdmanet::test {

/// Exists until the end of the scope. Only one process keeps it.
class NestedNetns {
public:
    explicit NestedNetns(const Pod& pod);
    NestedNetns(const NestedNetns&) = delete;
    NestedNetns& operator=(const NestedNetns&) = delete;
    ~NestedNetns() { destroy(); }

    /// Moves an interface of the pod into it and sets it up.
    void take(const Pod& pod, const std::string& ifname) const;
    /// "LOWER_UP" or empty.
    [[nodiscard]] std::string carrier(const std::string& ifname) const;
    void destroy() const;

private:
    std::string pid_;
};

} // namespace rdmanet::test
