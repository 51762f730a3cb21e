// What a pod can get, and what of the node it takes.
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

    /// Of a configuration: the plugin that makes the interface. Where it is another one, ours hands out the addresses.
    [[nodiscard]] virtual std::string type() const { return "rdmanet"; }
    /// Of a configuration: what the pod gets.
    [[nodiscard]] virtual std::string members() const = 0;
    /// Of children: interface of the host; else empty.
    [[nodiscard]] virtual std::string parent() const { return {}; }
    /// Whether the plugin gives addresses.
    [[nodiscard]] virtual bool has_addresses() const { return true; }
    /// CNI_IFNAME.
    [[nodiscard]] virtual std::string ifname() const { return PluginCall{}.ifname; }
    /// What an earlier plugin of the chain printed about that namespace; else empty.
    [[nodiscard]] virtual std::string earlier_result(const std::string& /*netns*/) const { return {}; }
    /// What an earlier plugin does with a new pod.
    virtual void furnish(const Pod& /*pod*/) const {}
    /// Until what the earlier plugin gave a pod is back, which the kernel brings when the pod is gone.
    virtual void wait_for_return() const {}
    /// Whether the kernel numbers a device anew while it comes and goes.
    [[nodiscard]] virtual Numbers numbers() const { return Numbers::compared; }
};

/// `kind`: "macvlan" or "ipvlan", whose parent is an RDMA port where the machine has one, else a veth;
/// "macvlan-derived", whose MAC address no configuration names; "passthru", a macvlan that gives its parent its MAC
/// address; "sriov"; "reset", a VF that is reset when it comes back; "switchdev", a VF with a representor;
/// "host-device", a whole function; "subfunction"; "vfio", a VF of vfio-pci; "ipoib"; "infiniband", a VF whose driver
/// is bound anew for its GUID; "rdma", the RDMA device of a VF that an earlier plugin put into the pod; "ipam-only",
/// addresses for the interface of another plugin.
[[nodiscard]] std::unique_ptr<Ground> make_ground(const std::string& kind);

/// Empty if this machine can play it; otherwise what is missing.
[[nodiscard]] std::string missing_for(const std::string& kind);

} // namespace rdmanet::test
