// PFs that could have VFs, on a node whose pods get RDMA devices of their own.
#include "checks.hpp"
#include "files.hpp"
#include "vfs.hpp"

#include <algorithm>

namespace rdmanet::doctor {
namespace {

using inventory::Device;

/// A PF whose RDMA device is on the host. Another one may be a pod's as a whole.
bool is_pf_on_host(const Device& device) {
    return device.pci && !device.pci->pf && !device.rdma.empty() && device.rdma.front().place == 0;
}

/// A hypervisor shows a PF to its guest without the capability, and a VF looks there like a PF. x86 processors have a
/// flag for it (X86_FEATURE_HYPERVISOR).
bool is_virtual_machine(const Context& context) {
    for (const std::string& line : begin_lines_of(context.path("/proc/cpuinfo")))
        if (line.starts_with("flags")) return line.find(" hypervisor") != std::string::npos;
    return false;
}

/// A function without the capability has no file sriov_totalvfs, and so has one whose firmware reports no VFs
/// (sriov_init() and sriov_pf_attrs_are_visible(), drivers/pci/iov.c). All PFs of ConnectX have it, if it is on.
bool lacks_capability(const Context& context, const Device& device) {
    const std::string file = fmt::format("/sys/bus/pci/devices/{}/sriov_totalvfs", device.pci->address);
    return device.pci->vendor == kNvidia && !exists(context.path(file));
}

void report_capability(const Device& device, Findings& found) {
    found.info(subject_of(device),
               "it has no SR-IOV capability, so it can have no VFs: it may be off in its firmware or in the BIOS",
               fmt::format("switch on SR-IOV in the setup of the BIOS, run `mlxconfig -d {} set SRIOV_EN=1 "
                           "NUM_OF_VFS=8`, and switch the node off and on; nothing, if pods get whole PFs",
                           device.pci->address));
}

void check_vf_count(const Context& context, Findings& found) {
    if (context.inventory.mode() != kernel::RdmaNetnsMode::exclusive) return;
    const auto& devices = context.inventory.devices;
    if (std::ranges::any_of(devices, has_vfs)) return;
    if (!is_virtual_machine(context))
        for (const Device& device : devices)
            if (is_pf_on_host(device) && lacks_capability(context, device)) report_capability(device, found);
    const auto able = std::ranges::find_if(
        devices, [](const Device& device) { return is_pf_on_host(device) && device.pci->most_vfs != 0; });
    if (able == devices.end()) return;
    found.info(
        subject_of(*able),
        fmt::format(
            "no PF of this node has VFs, although its RDMA mode is exclusive; the firmware of this one allows {}",
            able->pci->most_vfs),
        fmt::format("`echo N >/sys/bus/pci/devices/{}/sriov_numvfs`, and at each boot; N is the number of pods that "
                    "run at once, up to {}; nothing, if pods get whole PFs",
                    able->pci->address, able->pci->most_vfs));
}

constexpr Check kVfCountChecks[] = {
    {{"vf-count", Layer::rdma, "VFs for pods, in mode exclusive"}, check_vf_count},
};

} // namespace

std::span<const Check> vf_count_checks() {
    return kVfCountChecks;
}

} // namespace rdmanet::doctor
