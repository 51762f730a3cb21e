// The node that the examples are written for: NICs eth1 and eth2 with the RDMA devices mlx5_0 and mlx5_1 on one wire, a
// VLAN interface eth1.100, the plugins installed, nothing ever attached.
#pragma once

#include "runtime.hpp"
#include "support/node.hpp"
#include "support/vf_node.hpp"

#include <memory>
#include <string>
#include <vector>

namespace rdmanet::test {

class ExampleNode {
public:
    ExampleNode();
    ExampleNode(const ExampleNode&) = delete;
    ExampleNode& operator=(const ExampleNode&) = delete;
    ~ExampleNode();

    /// What this machine lacks to be that node; empty if nothing.
    [[nodiscard]] static std::string lacks();
    /// What differs from the node as it was first.
    [[nodiscard]] std::string difference() const { return before_->difference(); }

private:
    Installed installed_;
    std::string ports_[2];
    std::string devices_[2];
    std::unique_ptr<UnchangedNode> before_;
};

/// The same in RDMA mode exclusive, with VFs on eth1.
class ExclusiveExampleNode {
public:
    ExclusiveExampleNode();

    [[nodiscard]] static std::string lacks();
    /// PCI addresses.
    [[nodiscard]] const std::vector<std::string>& vfs() const { return addresses_; }
    [[nodiscard]] std::string difference() const { return node_.difference(); }

private:
    VfNode vfs_{"exclusive", 4};
    std::vector<std::string> addresses_;
    ExampleNode node_;
};

/// Addresses of `result` that are no GID of the RDMA device with the pod's interface, separated by spaces.
[[nodiscard]] std::string addresses_without_gid(const std::string& result, const std::string& device,
                                                const std::string& ifname);

/// The same of RDMA devices in the pod.
[[nodiscard]] std::string addresses_without_gid(const Pod& pod, const std::string& result);

/// Runs a shell script in the pod; empty if every command of it succeeds, else its trace.
[[nodiscard]] std::string failure_of(const Pod& pod, const std::string& script);

} // namespace rdmanet::test
