#include "lost_devices.hpp"

#include "lookup/device_link.hpp"
#include "lookup/vf.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/process.hpp>
#include <rdmanet/base/wait.hpp>
#include <rdmanet/kernel/device.hpp>
#include <rdmanet/kernel/device_search.hpp>
#include <rdmanet/kernel/proc_view.hpp>
#include <rdmanet/state/topic.hpp>

#include <chrono>
#include <set>
#include <utility>

namespace rdmanet::attach {
namespace {

using kernel::ElsewhereDevice;
using kernel::VfSettings;
using Devices = std::vector<ElsewhereDevice>;

bool is_recorded(const base::PciAddress& vf, const state::AttachmentStore& records) {
    return !records.list_about(state::device_topic(vf.to_string())).empty();
}

/// Keeps only settings that a VF without a pod has no use for. Drivers and administrators have their own defaults for
/// MAC, trust and spoof check. Some drivers report the port's speed as the rate (qed, qed_sriov.c).
VfSettings keep_pod_settings(const VfSettings& settings) {
    VfSettings found;
    if (settings.vlan && (settings.vlan->id != 0 || settings.vlan->qos != 0)) found.vlan = settings.vlan;
    if (settings.link_state == kernel::VfLinkState::disable) found.link_state = settings.link_state;
    return found;
}

std::string text_of(const base::BusAddress& address, const kernel::VfId& id, const VfSettings& found) {
    return fmt::format(
        "device {}, {}, has {} and no pod: the next pod gets these settings unless its network sets others. If "
        "nobody set them on purpose, run `ip link set {} vf {}{}{}`",
        address, id, found, id.pf, id.number, found.vlan ? " vlan 0" : "", found.link_state ? " state auto" : "");
}

/// The VFs whose PFs report such settings, in the order of their addresses. The kernel is asked once for all VFs. If it
/// cannot list them together, or does not say whose a VF is, all VFs are suspects, and each is asked about.
std::vector<base::PciAddress> list_suspects(const base::Deadline& deadline) try {
    kernel::Socket route = kernel::Socket::open(kernel::Protocol::route, deadline);
    std::set<base::PciAddress> suspects;
    for (const kernel::ReportedVf& vf : kernel::list_reported_vfs(route)) {
        if (keep_pod_settings(vf.settings).empty()) continue;
        if (!vf.of) return kernel::list_vfs();
        if (const auto address = kernel::find_vf_address(*vf.of)) suspects.insert(*address);
    }
    return {suspects.begin(), suspects.end()};
} catch (const base::SystemError&) { // a PF has too many VFs (kernel::find_vf()), or links and VFs keep changing
    return kernel::list_vfs();
}

/// Empty if the VF has no such settings.
std::string describe_vf(const base::PciAddress& vf, kernel::Socket& route) try {
    const base::BusAddress address(vf);
    if (!find_link_on_host(address, route)) return {};
    const auto of = kernel::find_pf_of(vf);
    if (!of) return {};
    const auto id = find_vf_id(*of, route);
    const auto settings = id ? kernel::find_vf(route, *id) : std::nullopt;
    const VfSettings found = settings ? keep_pod_settings(*settings) : VfSettings{};
    return found.empty() ? std::string() : text_of(address, *id, found);
} catch (const base::Error& error) {
    return fmt::format("device {}: its settings cannot be read: {}", vf, error.what());
}

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

std::vector<std::string> describe_orphan_vfs(const state::AttachmentStore& records, const base::Deadline& deadline) {
    const std::vector<base::PciAddress> suspects = list_suspects(deadline);
    std::vector<std::string> orphans;
    if (suspects.empty()) return orphans;
    kernel::Socket route = kernel::Socket::open(kernel::Protocol::route, deadline);
    for (const base::PciAddress& vf : suspects) {
        if (describe_vf(vf, route).empty() || is_recorded(vf, records)) continue;
        // Look twice. A DEL restores the settings before it removes its record, so the first look may have been too
        // early. An ADD writes its record before the settings, so the second look finds it.
        std::string text = describe_vf(vf, route);
        if (text.empty() || is_recorded(vf, records)) continue;
        orphans.push_back(std::move(text));
    }
    return orphans;
}

std::vector<std::string> describe_unreachable_devices(const base::Deadline& deadline) {
    constexpr std::chrono::seconds kTimeout{5};
    if (!kernel::read_proc_view().sees_all()) return {};
    constexpr std::chrono::milliseconds kPause{100}; // a look reads all of /proc
    std::vector<std::string> texts;
    Devices lost;
    const auto look = [&] {
        const auto before = std::exchange(texts, {});
        lost.clear();
        Devices elsewhere = kernel::list_devices_elsewhere();
        if (elsewhere.empty()) return true;
        const kernel::LiveNetns living = kernel::list_live_netns();
        if (!living.doubt.empty()) return true;
        lost = describe_held(find_unreachable(living, std::move(elsewhere)), living, texts);
        // Look twice: a device that was being moved into a pod has arrived by the second look.
        return lost.empty() && texts == before;
    };
    base::wait_for(deadline.at_most(kTimeout), look, {.first = kPause, .longest = kPause});
    for (const ElsewhereDevice& device : lost) texts.push_back(lost_text(device));
    return texts;
}

} // namespace rdmanet::attach
