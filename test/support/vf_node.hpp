// A node with VFs of the software NIC, in the RDMA mode that a test needs.
#pragma once

#include <string>

namespace rdmanet::test {

/// The kernel changes the mode only while no other network namespace exists. Namespaces of earlier tests end a moment
/// after their deletion, so this waits. False if the mode could not be changed.
[[nodiscard]] bool set_rdma_mode(const std::string& mode);

/// `device` is the PF's directory in sysfs. The kernel only changes the number of VFs from or to 0.
void set_vfs(const std::string& device, unsigned number);

/// The software NIC's first port has VFs until the end of the scope. The mode is shared again then.
class VfNode {
public:
    explicit VfNode(const std::string& mode = "exclusive", unsigned vfs = 2);
    VfNode(const VfNode&) = delete;
    VfNode& operator=(const VfNode&) = delete;
    ~VfNode();

    [[nodiscard]] static bool possible();

    [[nodiscard]] const std::string& pf() const { return pf_; }
    /// PCI address of the VF.
    [[nodiscard]] std::string vf(unsigned number) const;
    /// The VF's name on the host, "rnic0p0v0".
    [[nodiscard]] std::string netdev(unsigned number) const;
    [[nodiscard]] std::string rdma(unsigned number) const;
    /// The PF's settings for a VF.
    [[nodiscard]] std::string settings(unsigned number) const;

private:
    std::string pf_;
};

/// A PF in switchdev mode until the end of the scope. Its VFs have representors, which are down.
class SwitchdevMode {
public:
    explicit SwitchdevMode(const std::string& pf);
    SwitchdevMode(const SwitchdevMode&) = delete;
    SwitchdevMode& operator=(const SwitchdevMode&) = delete;
    ~SwitchdevMode();

    /// The net device on the host that represents VF `number`. Its name sorts before the uplink's.
    [[nodiscard]] std::string representor(unsigned number) const;

private:
    std::string pf_;
    std::string set_;
};

} // namespace rdmanet::test

#define NEEDS_VFS() NEEDS(::rdmanet::test::VfNode::possible(), "an SR-IOV RDMA NIC")
