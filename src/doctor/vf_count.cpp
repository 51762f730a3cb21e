// PFs that could have VFs, on a node whose pods get RDMA devices of their own.
#include "checks.hpp"
#include "files.hpp"
#include "vfs.hpp"

#include <rdmanet/base/text.hpp>

namespace rdmanet::doctor {
namespace {

using inventory::Device;

constexpr std::uint16_t kMellanox = 0x15b3;

/// A PF whose RDMA device is on the host. Another one may be a pod's as a whole.
bool is_pf_on_host(const Device& device) {
    return device.pci && !device.pci->pf && !device.rdma.empty() && device.rdma.front().place == 0;
}

/// Firmware reports no VFs if SR-IOV is off in it. A function that cannot have VFs has no such file
/// (sriov_pf_attrs_are_visible(), drivers/pci/iov.c).
bool is_off_in_firmware(const Context& context, const Device& device) {
    const std::string file = fmt::format("/sys/bus/pci/devices/{}/sriov_totalvfs", device.pci->address);
    return line_of(context.path(file)) == "0";
}

void report_firmware(const Device& device, Findings& found) {
    const std::string cure =
        device.pci->vendor == kMellanox
            ? fmt::format("`mlxconfig -d {} set SRIOV_EN=1 NUM_OF_VFS=8`, then switch the node off and on",
                          device.pci->address)
            : std::string("switch it on with the vendor's tool or in the card's setup menu, then switch the node off "
                          "and on");
    found.info(subject_of(device), "SR-IOV is off in its firmware: its sriov_totalvfs is 0, so it can have no VFs",
               cure);
}

void check_vf_count(const Context& context, Findings& found) {
    if (context.inventory.mode() != kernel::RdmaNetnsMode::exclusive) return;
    const auto& devices = context.inventory.devices;
    if (std::any_of(devices.begin(), devices.end(), has_vfs)) return;
    for (const Device& device : devices)
        if (is_pf_on_host(device) && is_off_in_firmware(context, device)) report_firmware(device, found);
    const auto able = std::find_if(devices.begin(), devices.end(), [](const Device& device) {
        return is_pf_on_host(device) && device.pci->most_vfs != 0;
    });
    if (able == devices.end()) return;
    found.info(
        subject_of(*able),
        fmt::format(
            "no PF of this node has VFs, although its RDMA mode is exclusive; the firmware of this one allows {}",
            able->pci->most_vfs),
        fmt::format("`echo {} >/sys/bus/pci/devices/{}/sriov_numvfs`, and at each boot", able->pci->most_vfs,
                    able->pci->address));
}

constexpr Check kVfCountChecks[] = {
    {{"vf-count", Layer::rdma, "VFs for pods, in mode exclusive"}, check_vf_count},
};

} // namespace

std::span<const Check> vf_count_checks() {
    return kVfCountChecks;
}

} // namespace rdmanet::doctor
