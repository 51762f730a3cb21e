// PFs and VFs: what keeps one from being an RDMA device that a pod can have.
#include "checks.hpp"
#include "files.hpp"
#include "vfs.hpp"

#include <rdmanet/base/error.hpp>

#include <algorithm>
#include <set>
#include <string>

namespace rdmanet::doctor {
namespace {

using inventory::Device;
using kernel::DevlinkMode;

/// These give a device to a program, so it has neither a net nor an RDMA device.
bool is_for_user_space(std::string_view driver) {
    return driver == "vfio-pci" || driver == "mlx5_vfio_pci" || driver == "uio_pci_generic" || driver == "igb_uio" ||
           driver == "pci-stub";
}

std::string fix_of(const Device& device, const inventory::RdmaSwitchedOff& off) {
    const std::string handle =
        fmt::format("{}/{}", base::to_string(device.address->bus()), device.address->to_string());
    std::string set =
        fmt::format("`devlink dev param set {} name {} value true cmode {}`", handle, off.parameter, off.mode);
    switch (off.mode) {
    case DevlinkMode::runtime: return set;
    case DevlinkMode::driverinit:
        return fmt::format("{}, then `devlink dev reload {}`, which interrupts its traffic", set, handle);
    case DevlinkMode::permanent: break;
    }
    return fmt::format("{}, then switch the node off and on", set);
}

/// A device without a protocol is one for raw Ethernet packets (see inventory::NicSettings).
bool has_rdma(const Device& device) {
    return device.address &&
           std::ranges::any_of(device.rdma, [](const inventory::RdmaDevice& rdma) { return !rdma.protocol.empty(); });
}

/// Some functions are for Ethernet only, and then RDMA is switched off to save memory of the NIC. If none has RDMA,
/// nobody can want that.
void check_switched_off(const Context& context, Findings& found) {
    const auto& devices = context.inventory.devices;
    const bool any = std::ranges::any_of(devices, has_rdma);
    const auto report = [&](const Device& subject, const Device& device, const std::string& what,
                            std::string_view users, std::string_view more) {
        const std::string text =
            fmt::format("{} is switched off: devlink's parameter {} is false, expected true{}", what,
                        device.switched_off->parameter, any ? fmt::format(" if pods shall use {}", users) : "");
        const std::string fix = fmt::format("{}{}", fix_of(device, *device.switched_off), more);
        if (any)
            found.info(subject_of(subject), text, fix);
        else
            found.failure(subject_of(subject), text, fix);
    };
    for (const Device& device : devices) {
        const bool is_vf = device.pci && device.pci->pf;
        if (device.switched_off && !is_vf) report(device, device, "its RDMA", "it", "");
        if (!has_vfs(device)) continue;
        Vfs off;
        for_each_vf(context, device, [&](const Device& vf) {
            if (vf.switched_off) off.add(vf);
        });
        if (!off.empty())
            report(device, off.first(), fmt::format("RDMA of {} ({})", off.counted(), off.examples()), "them",
                   off.for_each());
    }
}

/// The kernel binds no driver to a VF while the PF's sriov_drivers_autoprobe is 0 (pci_device_can_probe(),
/// drivers/pci/pci-driver.c). Hosts of virtual machines are set up so.
void report_without_driver(const Context& context, const Device& pf, const Vfs& without, Findings& found) {
    const std::string file = fmt::format("/sys/bus/pci/devices/{}/sriov_drivers_autoprobe", pf.pci->address);
    const std::string what = fmt::format("it has {} without a driver ({})", without.counted(), without.examples());
    const std::string probe =
        fmt::format("`echo {} >/sys/bus/pci/drivers_probe`{}", without.address(), without.for_each());
    if (line_of(context.path(file)) == "0")
        found.info(
            subject_of(pf),
            fmt::format("{}, because its sriov_drivers_autoprobe is 0: good for virtual machines, not for pods", what),
            fmt::format("if pods shall use them: `echo 1 >{}`, then {}", file, probe));
    else
        found.warning(subject_of(pf), what, probe);
}

void check_drivers_of_vfs(const Context& context, const Device& pf, Findings& found) {
    Vfs without;
    Vfs for_user_space;
    for_each_vf(context, pf, [&](const Device& vf) {
        if (vf.pci->driver.empty()) without.add(vf);
        if (is_for_user_space(vf.pci->driver)) for_user_space.add(vf);
    });
    if (!without.empty()) report_without_driver(context, pf, without, found);
    if (!for_user_space.empty())
        found.info(subject_of(pf),
                   fmt::format("it has {} with {} ({}), from which a pod gets neither interface nor RDMA device",
                               for_user_space.counted(), for_user_space.driver(), for_user_space.examples()));
}

void check_vfs(const Context& context, Findings& found) {
    for (const Device& device : context.inventory.devices)
        if (has_vfs(device)) check_drivers_of_vfs(context, device, found);
}

/// The inventory reads the host before the pods. A VF that meanwhile comes back from a pod is in neither, but in sysfs,
/// which shows the devices of the namespace that mounted it. A VF may also be the parent of a vDPA device, which is
/// then all that it has.
bool has_devices_now(const Context& context, const Device& vf) {
    const std::string directory = context.path(fmt::format("/sys/bus/pci/devices/{}", *vf.address));
    const auto names = names_in(directory);
    return !names_in(directory + "/net").empty() || !names_in(directory + "/infiniband").empty() ||
           std::ranges::any_of(names, [](const std::string& name) { return name.starts_with("vdpa"); });
}

/// A net device of virtio does not name the function that it belongs to, because it belongs to a device on virtio's
/// bus.
bool is_lost(const Context& context, const Device& vf) {
    const std::string& driver = vf.pci->driver;
    return !driver.empty() && !is_for_user_space(driver) && driver != "virtio-pci" && vf.net.empty() &&
           vf.rdma.empty() && !has_devices_now(context, vf);
}

void report_lost(const Context& context, const Device& pf, const Vfs& lost, Findings& found) {
    for (const inventory::Namespace& place : context.inventory.namespaces)
        if (!place.trouble.empty())
            throw base::Error(fmt::format("{} of {} may be in {}, which cannot be seen: {}", lost.counted(),
                                          subject_of(pf), place, place.trouble));
    const std::string address = lost.address();
    found.warning(subject_of(pf),
                  fmt::format("it has {} ({}) with driver {}, and without a net or RDMA device in any namespace",
                              lost.counted(), lost.examples(), lost.driver()),
                  fmt::format("`dmesg | grep {}` says whether the driver still starts, or why it failed; if it failed: "
                              "`cd /sys/bus/pci/drivers/{}; echo {} >unbind; echo {} >bind`{}",
                              address, lost.driver(), address, address, lost.for_each()));
}

/// Before Linux 5.14 no net device names the function that it belongs to (IFLA_PARENT_DEV_NAME).
void check_lost_vfs(const Context& context, Findings& found) {
    const auto& devices = context.inventory.devices;
    if (std::ranges::all_of(devices, [](const Device& each) { return each.net.empty(); })) return;
    // While an ADD or DEL moves a device, it is in no namespace for a moment, and a driver that is bound again has no
    // devices yet.
    std::set<std::string> moving;
    for (const state::AttachmentRecord& record : context.node.records(state::Access::look).list().records)
        if (record.phase == state::Phase::prepared || record.removal_unfinished) moving.insert(record.device());
    for (const Device& device : devices) {
        if (!has_vfs(device)) continue;
        Vfs lost;
        for_each_vf(context, device, [&](const Device& vf) {
            if (is_lost(context, vf) && moving.count(vf.address->to_string()) == 0) lost.add(vf);
        });
        if (!lost.empty()) report_lost(context, device, lost, found);
    }
}

constexpr Check kFunctionChecks[] = {
    {{"enable-roce", Layer::kernel, "RDMA that devlink's parameters switch off"}, check_switched_off},
    {{"vfs", Layer::kernel, "drivers of the VFs of each PF"}, check_vfs},
    {{"lost-vf", Layer::kernel, "VFs with a driver and without devices"}, check_lost_vfs},
};

} // namespace

std::span<const Check> function_checks() {
    return kFunctionChecks;
}

} // namespace rdmanet::doctor
