// The node that the examples are written for. NICs eth1 and eth2 with the RDMA devices mlx5_0 and mlx5_1 are on one
// wire. It has a VLAN interface eth1.100 and the plugins, and no attachment yet.
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

    /// What this machine lacks for that node. Empty if it lacks nothing.
    [[nodiscard]] static std::string lacks();
    /// Forgets what earlier attachments left in the state directory, for example addresses that are cooling down.
    static void forget_earlier();
    /// How the node differs from its first state.
    [[nodiscard]] std::string difference() const { return before_->difference(); }

private:
    Installed installed_;
    std::string ports_[2];
    std::string devices_[2];
    std::unique_ptr<UnchangedNode> before_;
};

/// The same node in RDMA mode exclusive, with VFs on eth1.
class ExclusiveExampleNode {
public:
    ExclusiveExampleNode();

    [[nodiscard]] static std::string lacks();
    /// PCI addresses of the VFs.
    [[nodiscard]] const std::vector<std::string>& vfs() const { return addresses_; }
    [[nodiscard]] std::string difference() const { return node_.difference(); }

private:
    VfNode vfs_{"exclusive", 4};
    std::vector<std::string> addresses_;
    ExampleNode node_;
};

/// Addresses of `result` without a GID on the RDMA device for the pod's interface, separated by spaces.
[[nodiscard]] std::string addresses_without_gid(const std::string& result, const std::string& device,
                                                const std::string& ifname);

/// The same for RDMA devices in the pod.
[[nodiscard]] std::string addresses_without_gid(const Pod& pod, const std::string& result);

/// Runs a shell script in the pod. Empty if every command succeeds, otherwise the script's trace.
[[nodiscard]] std::string failure_of(const Pod& pod, const std::string& script);

} // namespace rdmanet::test
