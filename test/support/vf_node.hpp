// A node with VFs: the software NIC's, in the RDMA namespace mode that a test wants.
#pragma once

#include <string>

namespace rdmanet::test {

/// The kernel changes the mode only while there is no other network namespace; those of earlier tests end a moment
/// after their deletion. False if it was in vain.
[[nodiscard]] bool set_rdma_mode(const std::string& mode);

/// `device` is the PF's directory in sysfs; VFs that there are must go before there can be another number of them.
void set_vfs(const std::string& device, unsigned number);

/// The software NIC's first port has VFs, until the end of the scope; the mode is shared again then.
class VfNode {
public:
    explicit VfNode(const std::string& mode = "exclusive", unsigned vfs = 2);
    VfNode(const VfNode&) = delete;
    VfNode& operator=(const VfNode&) = delete;
    ~VfNode();

    [[nodiscard]] static bool possible();

    [[nodiscard]] const std::string& pf() const { return pf_; }
    /// PCI address.
    [[nodiscard]] std::string vf(unsigned number) const;
    /// On the host, "rnic0p0v0".
    [[nodiscard]] std::string netdev(unsigned number) const;
    [[nodiscard]] std::string rdma(unsigned number) const;
    /// What the PF says of a VF.
    [[nodiscard]] std::string settings(unsigned number) const;

private:
    std::string pf_;
};

/// Switchdev mode of a PF, until the end of the scope: its VFs have representors, which are down.
class SwitchdevMode {
public:
    explicit SwitchdevMode(const std::string& pf);
    SwitchdevMode(const SwitchdevMode&) = delete;
    SwitchdevMode& operator=(const SwitchdevMode&) = delete;
    ~SwitchdevMode();

    /// Of VF `number`: its net device on the host, whose name comes before the uplink's in the alphabet.
    [[nodiscard]] std::string representor(unsigned number) const;

private:
    std::string pf_;
    std::string set_;
};

} // namespace rdmanet::test

#define NEEDS_VFS() NEEDS(::rdmanet::test::VfNode::possible(), "an SR-IOV RDMA NIC")
