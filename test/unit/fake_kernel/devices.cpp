#include "shared.hpp"

#include <rdmanet/kernel/device_search.hpp>
#include <rdmanet/kernel/netns_sysfs.hpp>

#include <algorithm>
#include <cerrno>
#include <stdexcept>

namespace rdmanet::kernel {
namespace {

std::vector<std::string> rdma_names_in(std::uint64_t number, const std::string& address) {
    std::vector<std::string> names;
    for (const auto& [each, space] : machine().spaces)
        if (each == number || machine().mode == RdmaNetnsMode::shared)
            for (const fake::Rdma& rdma : space.rdma)
                if (rdma.function == address) names.push_back(rdma.device.name);
    return names;
}

} // namespace

bool device_exists(const base::BusAddress& address) {
    return find_function(address.to_string()) != nullptr;
}
std::optional<VfOf> find_pf_of(const base::PciAddress& address) {
    const auto* found = find_function(address.to_string());
    return found != nullptr ? found->vf_of : std::nullopt;
}
std::vector<base::PciAddress> list_vfs() {
    std::vector<base::PciAddress> vfs;
    for (const auto& [address, function] : machine().functions)
        if (function.vf_of) vfs.push_back(base::PciAddress::parse(address).value());
    return vfs;
}
std::optional<base::PciAddress> find_vf_address(const VfOf& vf) {
    for (const base::PciAddress& address : list_vfs())
        if (const auto of = find_pf_of(address); of->pf == vf.pf && of->number == vf.number) return address;
    return std::nullopt;
}
unsigned count_vfs_of(const base::BusAddress& address) {
    const auto* found = find_function(address.to_string());
    return found != nullptr ? static_cast<unsigned>(found->vfs.size()) : 0;
}
std::string driver_of(const base::BusAddress& address) {
    const auto* found = find_function(address.to_string());
    return found != nullptr ? found->driver : std::string();
}
bool is_driver_module(std::string_view name) {
    return name == "mlx5_core";
}
bool driver_exists(const base::BusAddress& /*of*/, const std::string& driver) {
    return machine().drivers.contains(driver);
}
void unbind(const base::BusAddress& address) {
    auto* const function = find_function(address.to_string());
    if (function->driver.empty()) return;
    (void)machine().change(fmt::format("unbind {}", address));
    function->driver.clear();
    machine().remove_made(address.to_string());
}
void bind(const base::BusAddress& address, const std::string& driver) {
    (void)machine().change(fmt::format("bind {} to {}", address, driver));
    auto* const function = find_function(address.to_string());
    if (!function->driver.empty()) throw base::SystemError("bind", EBUSY);
    function->driver = driver;
    machine().probe(address.to_string());
}
void bind_anew(const base::BusAddress& address, const std::string& driver) {
    unbind(address);
    bind(address, driver);
}
Resettable resettable(const base::BusAddress& address) {
    return machine().function(address.to_string()).resettable;
}
void reset(const base::BusAddress& address) {
    (void)machine().change(fmt::format("reset {}", address));
    if (!driver_of(address).empty()) throw std::logic_error("a reset under a driver");
    ++machine().function(address.to_string()).resets;
}
std::optional<base::BusAddress> bus_address_of(const std::string& parent_device) {
    return base::BusAddress::parse(parent_device);
}
std::vector<std::string> netdevs_of(const base::BusAddress& address) {
    std::vector<std::string> names;
    for (const Netdev& each : machine().spaces.at(machine().current).netdevs)
        if (each.link.parent_device == address.to_string()) names.push_back(each.link.name);
    return names;
}
std::vector<std::string> rdma_devices_of(const base::BusAddress& address) {
    return rdma_names_in(machine().current, address.to_string());
}
std::vector<std::string> rdma_devices_of(const base::BusAddress& address, const NetnsSysfs& sysfs) {
    return rdma_names_in(std::stoull(sysfs.path({})), address.to_string());
}
std::map<unsigned, std::string> representors_of(const base::PciAddress& pf) {
    const auto* found = find_function(pf.to_string());
    return found != nullptr ? found->representors : std::map<unsigned, std::string>{};
}
std::optional<std::string> uplink_of(const base::PciAddress& pf) {
    const auto names = netdevs_of(pf);
    return names.empty() ? std::nullopt : std::optional(names.front());
}

std::vector<ElsewhereDevice> list_devices_elsewhere() {
    std::vector<ElsewhereDevice> devices;
    for (const auto& [address, function] : machine().functions) {
        ElsewhereDevice device{.address = base::BusAddress::parse(address).value()};
        for (const auto& [number, space] : machine().spaces) {
            if (number == machine().current) continue;
            for (const Netdev& each : space.netdevs) device.net = device.net || each.link.parent_device == address;
            for (const fake::Rdma& each : space.rdma) device.rdma = device.rdma || each.function == address;
        }
        if (device.net || device.rdma) devices.push_back(device);
    }
    return devices;
}

std::vector<ElsewhereDevice> subtract_devices_in(const std::vector<std::string>& netns_paths,
                                                 std::vector<ElsewhereDevice> devices) {
    for (ElsewhereDevice& device : devices)
        for (const auto& [number, space] : machine().spaces) {
            if (std::find(netns_paths.begin(), netns_paths.end(), space.path) == netns_paths.end()) continue;
            for (const Netdev& each : space.netdevs)
                if (each.link.parent_device == device.address.to_string()) device.net = false;
            for (const fake::Rdma& each : space.rdma)
                if (each.function == device.address.to_string()) device.rdma = false;
        }
    std::erase_if(devices, [](const ElsewhereDevice& device) { return !device.net && !device.rdma; });
    return devices;
}

std::vector<HeldNetns> list_held_netns(const LiveNetns& /*living*/, const std::string& /*proc*/) {
    return {};
}

} // namespace rdmanet::kernel
