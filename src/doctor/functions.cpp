// PFs and VFs: what keeps one from being an RDMA device that a pod can have.
#include "checks.hpp"
#include "files.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/text.hpp>

namespace rdmanet::doctor {
namespace {

using inventory::Device;
using kernel::DevlinkMode;

/// These give a device to a program, so it has neither a net nor an RDMA device.
bool is_for_user_space(std::string_view driver) {
    return driver == "vfio-pci" || driver == "mlx5_vfio_pci" || driver == "uio_pci_generic" || driver == "igb_uio" ||
           driver == "pci-stub";
}

std::string cure_of(const Device& device, const inventory::RdmaSwitchedOff& off) {
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

void check_switched_off(const Context& context, Findings& found) {
    for (const Device& device : context.inventory.devices)
        if (device.switched_off)
            found.failure(subject_of(device),
                          fmt::format("its RDMA is switched off: devlink's parameter {} is false, expected true",
                                      device.switched_off->parameter),
                          cure_of(device, *device.switched_off));
}

/// VFs of one PF, for messages.
class Vfs {
public:
    void add(const Device& device) {
        if (count_++ == 0) first_ = device.address->to_string();
    }
    [[nodiscard]] bool empty() const { return count_ == 0; }
    [[nodiscard]] const std::string& first() const { return first_; }
    [[nodiscard]] std::string counted() const { return base::counted(count_, "VF", "VFs"); }
    /// "0000:3b:00.2", or "0000:3b:00.2, ...".
    [[nodiscard]] std::string examples() const { return fmt::format("{}{}", first_, count_ > 1 ? ", ..." : ""); }

private:
    std::size_t count_ = 0;
    std::string first_;
};

void check_drivers_of_vfs(const Context& context, const Device& pf, Findings& found) {
    Vfs without;
    Vfs for_user_space;
    std::string driver;
    for (const Device& device : context.inventory.devices) {
        if (!device.pci || device.pci->pf != pf.pci->address) continue;
        if (device.pci->driver.empty()) without.add(device);
        if (!is_for_user_space(device.pci->driver)) continue;
        if (for_user_space.empty()) driver = device.pci->driver;
        for_user_space.add(device);
    }
    if (!without.empty()) {
        const std::string file = fmt::format("/sys/bus/pci/devices/{}/sriov_drivers_autoprobe", pf.pci->address);
        const bool is_manual = line_of(context.path(file)) == "0";
        found.warning(subject_of(pf),
                      fmt::format("it has {} without a driver ({}){}", without.counted(), without.examples(),
                                  is_manual ? ", because its sriov_drivers_autoprobe is 0" : ""),
                      fmt::format("{}`echo {} >/sys/bus/pci/drivers_probe` for each VF",
                                  is_manual ? fmt::format("`echo 1 >{}`, then ", file) : std::string(),
                                  without.first()));
    }
    if (!for_user_space.empty())
        found.info(subject_of(pf),
                   fmt::format("it has {} with {} ({}), from which a pod gets neither interface nor RDMA device",
                               for_user_space.counted(), driver, for_user_space.examples()));
}

void check_vfs(const Context& context, Findings& found) {
    for (const Device& device : context.inventory.devices)
        if (device.pci && device.pci->vfs != 0) check_drivers_of_vfs(context, device, found);
}

/// A VF may also be the parent of a vDPA device, which is then all that it has.
bool has_vdpa(const Context& context, const Device& device) {
    const auto names = names_in(context.path(fmt::format("/sys/bus/pci/devices/{}", *device.address)));
    return std::any_of(names.begin(), names.end(), [](const std::string& name) { return name.starts_with("vdpa"); });
}

/// Before Linux 5.14 no net device names the function that it belongs to (IFLA_PARENT_DEV_NAME). A net device of
/// virtio never does, because it belongs to a device on virtio's bus.
bool can_be_lost(const Context& context, const Device& device) {
    const auto& devices = context.inventory.devices;
    return device.pci && device.pci->pf && !device.pci->driver.empty() && !is_for_user_space(device.pci->driver) &&
           device.pci->driver != "virtio-pci" &&
           std::any_of(devices.begin(), devices.end(), [](const Device& each) { return !each.net.empty(); });
}

void check_lost_vfs(const Context& context, Findings& found) {
    for (const Device& device : context.inventory.devices) {
        if (!can_be_lost(context, device) || !device.net.empty() || !device.rdma.empty() || has_vdpa(context, device))
            continue;
        for (const inventory::Namespace& place : context.inventory.namespaces)
            if (!place.trouble.empty())
                throw base::Error(
                    fmt::format("{} may be in {}, which cannot be seen: {}", subject_of(device), place, place.trouble));
        found.warning(subject_of(device),
                      fmt::format("it has driver {}, and neither a net nor an RDMA device in any namespace: it is lost",
                                  device.pci->driver),
                      fmt::format("`cd /sys/bus/pci/drivers/{}; echo {} >unbind; echo {} >bind`, and look into `dmesg` "
                                  "for why its driver failed",
                                  device.pci->driver, *device.address, *device.address));
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
