#include "unreachable_devices.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/process.hpp>
#include <rdmanet/kernel/device.hpp>
#include <rdmanet/kernel/device_search.hpp>
#include <rdmanet/kernel/proc_view.hpp>

#include <chrono>
#include <thread>
#include <utility>

namespace rdmanet::attach {
namespace {

using kernel::ElsewhereDevice;
using Devices = std::vector<ElsewhereDevice>;

std::string held_text(const ElsewhereDevice& device, const kernel::HeldNetns& held) {
    return fmt::format(
        "device {}: a network namespace without processes and mounts has its {}, and {} has that namespace "
        "open ({}): end that process, and the kernel returns the device to the host",
        device.address, device.parts_text(), base::describe_process(held.pid), held.path);
}

std::string lost_text(const ElsewhereDevice& device) {
    return fmt::format("device {}: a network namespace without processes and mounts has its {}, and what holds that "
                       "namespace cannot be seen: unbind and bind driver {}, which creates them again on the host",
                       device.address, device.parts_text(), kernel::driver_of(device.address));
}

/// Describes the devices in namespaces that a process has open. Returns the other devices.
Devices describe_held(Devices devices, const kernel::LiveNetns& living, std::vector<std::string>& texts) {
    for (const kernel::HeldNetns& held : kernel::list_held_netns(living)) {
        if (devices.empty()) break;
        Devices rest = kernel::subtract_devices_in({held.path}, devices);
        for (const ElsewhereDevice& device : devices) {
            ElsewhereDevice inside = device;
            for (const ElsewhereDevice& outside : rest) {
                if (outside.address != device.address) continue;
                inside.net = inside.net && !outside.net;
                inside.rdma = inside.rdma && !outside.rdma;
            }
            if (inside.net || inside.rdma) texts.push_back(held_text(inside, held));
        }
        devices = std::move(rest);
    }
    return devices;
}

/// The devices that are in no namespace of a process or mount.
Devices find_unreachable(const kernel::LiveNetns& living, Devices devices) {
    std::vector<std::string> paths;
    for (const auto& [inode, path] : living.paths) paths.push_back(path);
    return kernel::subtract_devices_in(paths, std::move(devices));
}

} // namespace

std::vector<std::string> describe_unreachable_devices(const base::Deadline& deadline) {
    constexpr std::chrono::seconds kTimeout{5};
    if (!kernel::read_proc_view().sees_all()) return {};
    const auto until = deadline.at_most(kTimeout);
    for (std::vector<std::string> before;;) {
        Devices elsewhere = kernel::list_devices_elsewhere();
        if (elsewhere.empty()) return {};
        const kernel::LiveNetns living = kernel::list_live_netns();
        if (!living.doubt.empty()) return {};
        std::vector<std::string> texts;
        const Devices lost = describe_held(find_unreachable(living, std::move(elsewhere)), living, texts);
        // Look twice: a device that was being moved into a pod has arrived by the second look.
        if (lost.empty() && texts == before) return texts;
        if (until.passed()) {
            for (const ElsewhereDevice& device : lost) texts.push_back(lost_text(device));
            return texts;
        }
        before = std::move(texts);
        std::this_thread::sleep_for(std::chrono::milliseconds{100});
    }
}

} // namespace rdmanet::attach
