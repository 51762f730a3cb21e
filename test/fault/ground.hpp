// The kinds of attachments, and the node that each of them needs.
#pragma once

#include "support/node.hpp"
#include "support/plugin_call.hpp"
#include "support/snapshot.hpp"

#include <memory>
#include <string>

namespace rdmanet::test {

/// A node prepared for attachments of one kind, until the end of the scope.
class Ground {
public:
    Ground() = default;
    Ground(const Ground&) = delete;
    Ground& operator=(const Ground&) = delete;
    virtual ~Ground() = default;

    /// The configuration's type. If it is another plugin's, that plugin makes the interface and rdmanet gives the
    /// addresses.
    [[nodiscard]] virtual std::string type() const { return "rdmanet"; }
    /// Members of the configuration that say what the pod gets.
    [[nodiscard]] virtual std::string members() const = 0;
    /// The host interface of a child. Empty for other kinds.
    [[nodiscard]] virtual std::string parent() const { return {}; }
    /// Whether rdmanet gives addresses.
    [[nodiscard]] virtual bool has_addresses() const { return true; }
    /// CNI_IFNAME.
    [[nodiscard]] virtual std::string ifname() const { return PluginCall{}.ifname; }
    /// The result of an earlier plugin for that namespace. Empty if there is none.
    [[nodiscard]] virtual std::string earlier_result(const std::string& /*netns*/) const { return {}; }
    /// Does what an earlier plugin does with a new pod.
    virtual void furnish(const Pod& /*pod*/) const {}
    /// Waits until the kernel has returned what the earlier plugin gave the pod.
    virtual void wait_for_return() const {}
    /// Whether what the pod gets is there after the pod's namespace. If not, nothing but DEL can return it.
    [[nodiscard]] virtual bool outlives_pod() const { return true; }
    /// Whether the kernel changes a device's numbers while it comes and goes.
    [[nodiscard]] virtual Numbers numbers() const { return Numbers::compared; }
};

/// The values of `kind`:
/// - "macvlan", "ipvlan": the parent is an RDMA port if the machine has one, otherwise a veth
/// - "passthru": a macvlan child whose MAC becomes its parent's
/// - "sriov": a VF
/// - "reset": a VF that DEL resets
/// - "switchdev": a VF with a representor
/// - "host-device": a whole function
/// - "virtual": a veth
/// - "subfunction": a sub-function
/// - "vfio": a VF of vfio-pci
/// - "ipoib": an IPoIB child
/// - "infiniband": a VF whose driver ADD binds again for its GUID
/// - "rdma": the RDMA device of a VF that an earlier plugin moved into the pod
/// - "ipam-only": addresses for another plugin's interface
[[nodiscard]] std::unique_ptr<Ground> make_ground(const std::string& kind);

/// Empty if this machine can play the kind, otherwise what it lacks.
[[nodiscard]] std::string missing_for(const std::string& kind);

} // namespace rdmanet::test
