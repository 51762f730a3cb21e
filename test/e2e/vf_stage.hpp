// VFs for attachments, and a snapshot of the node.
#pragma once

#include "attachment_stage.hpp"

#include "support/concat.hpp"
#include "support/reporter.hpp"
#include "support/vf_node.hpp"

#include <string>

namespace rdmanet::test {

/// A call for `pod` with VF `number`, as Multus makes it: "deviceID" is in the configuration.
[[nodiscard]] inline PluginCall vf_call(const VfNode& node, const Pod& pod, unsigned number,
                                        const std::string& members = "") {
    return call_for(pod, concat("'deviceID':'", node.vf(number), '\'', members.empty() ? "" : ",", members));
}

struct NeedsVfs {
    NeedsVfs() {
        if (!VfNode::possible()) skip("an SR-IOV RDMA NIC");
    }
};

/// Skips the case on a machine without them.
struct Vfs : NeedsVfs, VfNode {
    using VfNode::VfNode;
};

/// RDMA mode exclusive, two VFs, a pod, and a snapshot of the node.
struct VfStage {
    Vfs vfs;
    Pod pod{"pod"};
    UnchangedNode node;
};

} // namespace rdmanet::test
