#include "side.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/inventory/files.hpp>
#include <rdmanet/kernel/device.hpp>

#include <map>
#include <string_view>
#include <utility>

namespace rdmanet::inventory {
namespace {

/// Sub-functions are auxiliary devices below their PCI function: "mlx5_core.sf.4".
std::vector<Device> list_sub_functions(const std::string& sysfs) {
    constexpr std::string_view kPart = ".sf.";
    std::vector<Device> found;
    const std::string directory = fmt::format("{}/bus/auxiliary/devices", sysfs);
    for (const std::string& name : names_in(directory)) {
        const auto address = name.find(kPart) == std::string::npos ? std::nullopt : base::BusAddress::parse(name);
        if (!address) continue;
        const std::string target = link_target_of(fmt::format("{}/{}", directory, name));
        const std::string above = target.substr(0, target.rfind('/'));
        found.push_back({.address = address, .parent = base::PciAddress::parse(above.substr(above.rfind('/') + 1))});
    }
    return found;
}

class Collector {
public:
    explicit Collector(std::vector<Device> devices) : devices_(std::move(devices)) {
        for (std::size_t number = 0; number < devices_.size(); ++number)
            numbers_.emplace(devices_[number].address->to_string(), number);
    }

    void add(const Side& side) {
        for (const SeenLink& seen : side.links)
            if (const auto address = kernel::bus_address_of(seen.link.parent_device))
                if (Device* const device = find(address->to_string())) device->net.push_back(seen.described);
        for (const SeenRdma& seen : side.rdma) {
            Device* const device = find(seen.bus_device);
            if (device != nullptr)
                device->rdma.push_back(seen.described);
            else
                without_bus_.push_back({.rdma = {seen.described}});
        }
    }

    [[nodiscard]] std::vector<Device> take() && {
        for (Device& device : without_bus_) devices_.push_back(std::move(device));
        return std::move(devices_);
    }

private:
    Device* find(const std::string& address) {
        const auto at = numbers_.find(address);
        return at == numbers_.end() ? nullptr : &devices_[at->second];
    }

    std::vector<Device> devices_;
    std::map<std::string, std::size_t> numbers_;
    std::vector<Device> without_bus_;
};

} // namespace

std::vector<Device> list_devices(const std::string& sysfs, const std::vector<Side>& sides,
                                 std::vector<PciFunction>& others) {
    std::vector<Device> devices;
    for (PciFunction& function : list_pci_functions(sysfs)) {
        if (!function.is_network()) {
            others.push_back(std::move(function));
            continue;
        }
        Device device{.address = function.address};
        device.pci = std::move(function);
        devices.push_back(std::move(device));
    }
    for (Device& device : list_sub_functions(sysfs)) devices.push_back(std::move(device));
    Collector collector(std::move(devices));
    for (const Side& side : sides) collector.add(side);
    return std::move(collector).take();
}

} // namespace rdmanet::inventory
