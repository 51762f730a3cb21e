#include <rdmanet/kernel/device.hpp>

#include "parse.hpp"

#include <rdmanet/base/directory.hpp>
#include <rdmanet/base/error.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace rdmanet::kernel {
namespace {

using base::BusAddress;
using base::PciAddress;

/// A virtio device is below its PCI function ("0000:00:03.0/virtio0"), and the function's interface belongs to it.
constexpr std::string_view kVirtio = "virtio";

std::string directory_of(const BusAddress& address) {
    return fmt::format("/sys/{}", address.sysfs_path());
}

std::string directory_of_driver(const BusAddress& address, const std::string& driver) {
    return fmt::format("/sys/bus/{}/drivers/{}", address.bus(), driver);
}

std::string last_part(const std::string& path) {
    return path.substr(path.rfind('/') + 1);
}

std::vector<std::string> sorted_names_in(const std::string& path) {
    std::vector<std::string> names = base::list_directory(path);
    std::sort(names.begin(), names.end());
    return names;
}

/// Empty if the driver has no such name (phys_port_name_show(), net/core/net-sysfs.c). Other failures are errors: a
/// port that is mistaken for another one would not be restored.
std::string line_in(const base::UniqueFd& directory, const char* file) try {
    return base::find_line(directory.get(), file).value_or("");
} catch (const base::SystemError& error) {
    if (error.errno_value() != EOPNOTSUPP) throw;
    return {};
}

base::UniqueFd directory_of_netdev(const PciAddress& pf, const std::string& netdev) {
    return base::open_directory(fmt::format("{}/net/{}", directory_of(pf), netdev));
}

/// The switch that the net device is a port of. Some drivers report one in legacy mode, too.
std::string switch_of(const base::UniqueFd& netdev) {
    return line_in(netdev, "phys_switch_id");
}

/// Empty if the driver reports none, or the PF has no net device here.
std::string switch_of_uplink(const PciAddress& pf) {
    const auto uplink = uplink_of(pf);
    const base::UniqueFd directory = uplink ? directory_of_netdev(pf, *uplink) : base::UniqueFd();
    return directory ? switch_of(directory) : std::string();
}

bool is_uplink(const PciAddress& pf, const std::string& netdev) {
    const base::UniqueFd directory = directory_of_netdev(pf, netdev);
    if (!directory) return false;
    // An IPoIB interface's child for a partition is also a net device of the function.
    if (base::find_line(directory.get(), "iflink") != base::find_line(directory.get(), "ifindex")) return false;
    const std::string port_name = line_in(directory, "phys_port_name");
    return port_name.empty() || is_of_port(port_name);
}

void write_line(const std::string& path, const std::string& text) {
    const base::UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!fd || ::write(fd.get(), text.data(), text.size()) < 0)
        throw base::SystemError(fmt::format("write {} to {}", text, path), errno);
}

/// Removes `word` and the number after it from the beginning of `text`; nullopt if the text begins differently.
std::optional<unsigned> take_number(std::string_view& text, std::string_view word) {
    if (!text.starts_with(word)) return std::nullopt;
    text.remove_prefix(word.size());
    const std::string_view digits = text.substr(0, text.find_first_not_of("0123456789"));
    text.remove_prefix(digits.size());
    return base::parse_integer<unsigned>(digits);
}

} // namespace

bool is_of_port(std::string_view port_name) {
    return take_number(port_name, "p") && port_name.empty();
}

std::optional<unsigned> vf_of(std::string_view port_name) {
    if (!take_number(port_name, "pf")) return std::nullopt;
    const auto number = take_number(port_name, "vf");
    return port_name.empty() ? number : std::nullopt;
}

void unbind(const BusAddress& address) {
    if (const std::string present = driver_of(address); !present.empty())
        write_line(fmt::format("{}/unbind", directory_of_driver(address, present)), address.to_string());
}

void bind(const BusAddress& address, const std::string& driver) {
    write_line(fmt::format("{}/bind", directory_of_driver(address, driver)), address.to_string());
}

void bind_anew(const BusAddress& address, const std::string& driver) {
    unbind(address);
    bind(address, driver);
}

bool driver_exists(const BusAddress& of, const std::string& driver) {
    return static_cast<bool>(base::open_directory(directory_of_driver(of, driver)));
}

Resettable resettable(const BusAddress& address) {
    const std::vector<std::string> files = base::list_directory(directory_of(address));
    if (std::find(files.begin(), files.end(), "reset") == files.end()) return Resettable::no;
    const base::UniqueFd directory = base::open_directory(directory_of(address));
    const auto methods = directory ? base::find_line(directory.get(), "reset_method") : std::nullopt;
    return methods && methods->empty() ? Resettable::switched_off : Resettable::yes;
}

void reset(const BusAddress& address) {
    write_line(fmt::format("{}/reset", directory_of(address)), "1");
}

bool device_exists(const BusAddress& address) {
    return static_cast<bool>(base::open_directory(directory_of(address)));
}

std::optional<VfOf> find_pf_of(const PciAddress& address) {
    const auto link = base::find_symlink(fmt::format("{}/physfn", directory_of(address)));
    if (!link) return std::nullopt;
    const auto pf = PciAddress::parse(last_part(*link));
    if (!pf) return std::nullopt;
    constexpr std::string_view prefix = "virtfn";
    for (const std::string& name : base::list_directory(directory_of(*pf))) {
        if (!name.starts_with(prefix)) continue;
        const auto number = base::parse_integer<unsigned>(std::string_view(name).substr(prefix.size()));
        const auto target = base::find_symlink(fmt::format("{}/{}", directory_of(*pf), name));
        if (number && target && PciAddress::parse(last_part(*target)) == address) return VfOf{*pf, *number};
    }
    return std::nullopt;
}

std::optional<PciAddress> find_vf_address(const VfOf& vf) {
    const auto link = base::find_symlink(fmt::format("{}/virtfn{}", directory_of(vf.pf), vf.number));
    return link ? PciAddress::parse(last_part(*link)) : std::nullopt;
}

std::vector<PciAddress> list_vfs() {
    const std::string directory = "/sys/bus/pci/devices";
    std::vector<PciAddress> vfs;
    for (const std::string& name : sorted_names_in(directory)) {
        const auto address = PciAddress::parse(name);
        if (address && base::find_symlink(fmt::format("{}/{}/physfn", directory, name))) vfs.push_back(*address);
    }
    return vfs;
}

unsigned count_vfs_of(const BusAddress& address) {
    const base::UniqueFd directory = base::open_directory(directory_of(address));
    if (!directory) return 0;
    return base::parse_integer<unsigned>(base::find_line(directory.get(), "sriov_numvfs").value_or("")).value_or(0);
}

std::string driver_of(const BusAddress& address) {
    const auto link = base::find_symlink(fmt::format("{}/driver", directory_of(address)));
    return link ? last_part(*link) : std::string();
}

bool is_driver_module(std::string_view name) {
    return static_cast<bool>(base::open_directory(fmt::format("/sys/module/{}/drivers", name)));
}

std::optional<BusAddress> bus_address_of(const std::string& parent_device) {
    if (auto address = BusAddress::parse(parent_device)) return address;
    if (!parent_device.starts_with(kVirtio) || parent_device.find('/') != std::string::npos) return std::nullopt;
    // "../../../devices/pci0000:00/0000:00:03.0/virtio0"
    const auto link = base::find_symlink(fmt::format("/sys/bus/virtio/devices/{}", parent_device));
    if (!link) return std::nullopt;
    return BusAddress::parse(last_part(link->substr(0, link->rfind('/'))));
}

std::vector<std::string> netdevs_of(const BusAddress& address) {
    std::vector<std::string> names = sorted_names_in(fmt::format("{}/net", directory_of(address)));
    if (!names.empty()) return names;
    for (const std::string& name : sorted_names_in(directory_of(address)))
        if (name.starts_with(kVirtio)) return sorted_names_in(fmt::format("{}/{}/net", directory_of(address), name));
    return names;
}

std::vector<std::string> rdma_devices_of(const BusAddress& address) {
    return sorted_names_in(fmt::format("{}/infiniband", directory_of(address)));
}

std::vector<std::string> rdma_devices_of(const BusAddress& address, const NetnsSysfs& sysfs) {
    return sorted_names_in(fmt::format("{}/infiniband", sysfs.path(address.sysfs_path())));
}

std::optional<std::string> uplink_of(const PciAddress& pf) {
    for (const std::string& name : netdevs_of(pf))
        if (is_uplink(pf, name)) return name;
    return std::nullopt;
}

std::map<unsigned, std::string> representors_of(const PciAddress& pf) {
    std::map<unsigned, std::string> names;
    const std::vector<std::string> netdevs = netdevs_of(pf);
    if (netdevs.size() < 2) return names; // the uplink alone, outside of switchdev mode
    const std::string of_uplink = switch_of_uplink(pf);
    if (of_uplink.empty()) return names;
    for (const std::string& name : netdevs) {
        const base::UniqueFd directory = directory_of_netdev(pf, name);
        const auto vf = directory ? vf_of(line_in(directory, "phys_port_name")) : std::nullopt;
        if (vf && switch_of(directory) == of_uplink) names.emplace(*vf, name);
    }
    return names;
}

} // namespace rdmanet::kernel
