// How PFs administer their VFs.
#include "checks.hpp"

#include <rdmanet/base/text.hpp>

namespace rdmanet::doctor {
namespace {

using inventory::Device;

/// mlx5, for one, refuses a VF's VLAN, spoof check and trust in this mode, and still takes MAC and rate
/// (mlx5_eswitch_set_vport_vlan(), drivers/net/ethernet/mellanox/mlx5/core/esw/legacy.c).
void check_eswitch(const Context& context, Findings& found) {
    for (const Device& device : context.inventory.devices)
        if (device.is_switchdev)
            found.info(subject_of(device),
                       "its e-switch is in mode switchdev: VLAN, rate and link state of a VF are settings of its "
                       "representor, and the PF may refuse them",
                       "leave them out of the network, set them on the representors, and connect these, for example "
                       "with a bridge");
}

/// MAC and GIDs: with a MAC that its PF sets, a VF has the same ones again.
void check_vf_macs(const Context& context, Findings& found) {
    const auto& devices = context.inventory.devices;
    for (const Device& pf : devices) {
        if (!pf.pci || pf.pci->vfs == 0) continue;
        const Device* first = nullptr;
        std::size_t count = 0;
        for (const Device& device : devices)
            if (device.has_random_mac && device.pci && device.pci->pf == pf.pci->address && count++ == 0)
                first = &device;
        if (first == nullptr) continue;
        found.info(subject_of(pf),
                   fmt::format("it has {} with a random MAC ({}{}): MAC, GIDs and GUIDs change with each boot or bind",
                               base::counted(count, "VF", "VFs"), subject_of(*first), count > 1 ? ", ..." : ""),
                   fmt::format("`ip link set {} vf {} mac ...` for each VF at boot, before its driver is bound, or "
                               "\"mac\" in the network",
                               pf.net.empty() ? "PF" : base::shell_word(pf.net.front().name), first->pci->vf_number));
    }
}

constexpr Check kVfChecks[] = {
    {{"eswitch", Layer::rdma, "mode of the switch between a PF and its VFs"}, check_eswitch},
    {{"vf-macs", Layer::rdma, "VFs whose MAC changes with each boot"}, check_vf_macs},
};

} // namespace

std::span<const Check> vf_checks() {
    return kVfChecks;
}

} // namespace rdmanet::doctor
