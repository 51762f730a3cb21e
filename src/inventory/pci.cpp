#include <rdmanet/inventory/pci.hpp>

#include <rdmanet/base/format.hpp>
#include <rdmanet/inventory/files.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace rdmanet::inventory {
namespace {

using base::PciAddress;

constexpr std::uint32_t kInfiniBand = 0x0c06;      // PCI_CLASS_SERIAL_..., subclass InfiniBand (PCI code and ID list)
constexpr std::uint32_t kNetwork = 0x02;           // PCI_BASE_CLASS_NETWORK
constexpr std::uint32_t kDisplay = 0x03;           // PCI_BASE_CLASS_DISPLAY
constexpr std::uint32_t kAccelerator = 0x12;       // PCI_CLASS_ACCELERATOR_PROCESSING
constexpr std::string_view kDevices = "/devices/"; // in the target of a device's link

bool is_network(std::uint32_t class_code) {
    return class_code >> 16 == kNetwork || class_code >> 8 == kInfiniBand;
}

/// "../../../devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0": what is between "devices" and the device.
std::vector<std::string> path_of(const std::string& target) {
    std::vector<std::string> parts;
    std::size_t begin = target.find(kDevices);
    if (begin == std::string::npos) return parts;
    begin += kDevices.size();
    for (std::size_t end = 0; (end = target.find('/', begin)) != std::string::npos; begin = end + 1)
        parts.push_back(target.substr(begin, end - begin));
    return parts;
}

PciFunction read_function(const std::string& directory, const PciAddress& address, std::uint32_t class_code) {
    const auto file = [&](const char* name) { return fmt::format("{}/{}", directory, name); };
    const auto number = [&](const char* name) { return number_of<unsigned>(file(name)).value_or(0); };
    PciFunction function{.address = address, .class_code = class_code};
    function.vendor = number_of<std::uint16_t>(file("vendor"), 16).value_or(0);
    function.device = number_of<std::uint16_t>(file("device"), 16).value_or(0);
    function.driver = link_name_of(file("driver"));
    if (const auto node = number_of<int>(file("numa_node")); node && *node >= 0) function.numa_node = node;
    function.path = path_of(link_target_of(directory));
    function.pf = PciAddress::parse(link_name_of(file("physfn")));
    if (function.pf) return function; // a VF has no PCIe link of its own
    function.link_speed = line_of(file("current_link_speed"));
    function.most_link_speed = line_of(file("max_link_speed"));
    function.link_width = number("current_link_width");
    function.most_link_width = number("max_link_width");
    function.vfs = number("sriov_numvfs");
    function.most_vfs = number("sriov_totalvfs");
    return function;
}

/// The kernel numbers the VFs only in the links of their PF ("virtfn3").
void number_vfs(const std::string& devices, std::vector<PciFunction>& functions) {
    constexpr std::string_view kLink = "virtfn";
    std::map<PciAddress, unsigned> numbers;
    for (const PciFunction& pf : functions)
        if (pf.vfs != 0)
            for (unsigned number = 0; number < pf.vfs; ++number)
                if (const auto vf =
                        PciAddress::parse(link_name_of(fmt::format("{}/{}/{}{}", devices, pf.address, kLink, number))))
                    numbers.emplace(*vf, number);
    for (PciFunction& function : functions)
        if (const auto at = numbers.find(function.address); at != numbers.end()) function.vf_number = at->second;
}

} // namespace

bool PciFunction::is_network() const {
    return inventory::is_network(class_code);
}

bool PciFunction::is_accelerator() const {
    // A server's management controller has a display, too, behind one lane.
    constexpr unsigned kLanesOfAccelerator = 8;
    return class_code >> 16 == kAccelerator || (class_code >> 16 == kDisplay && most_link_width >= kLanesOfAccelerator);
}

std::string PciFunction::id_text() const {
    return fmt::format("{:04x}:{:04x}", vendor, device);
}

std::vector<PciFunction> list_pci_functions(const std::string& sysfs) {
    const std::string devices = fmt::format("{}/bus/pci/devices", sysfs);
    std::vector<PciFunction> functions;
    for (const std::string& name : names_in(devices)) {
        const auto address = PciAddress::parse(name);
        const std::string directory = fmt::format("{}/{}", devices, name);
        const auto class_code = number_of<std::uint32_t>(fmt::format("{}/class", directory), 16);
        if (!address || !class_code) continue;
        const std::uint32_t base_class = *class_code >> 16;
        if (!is_network(*class_code) && base_class != kDisplay && base_class != kAccelerator) continue;
        PciFunction function = read_function(directory, *address, *class_code);
        if (function.is_network() || function.is_accelerator()) functions.push_back(std::move(function));
    }
    std::ranges::sort(functions, [](const PciFunction& a, const PciFunction& b) { return a.address < b.address; });
    number_vfs(devices, functions);
    return functions;
}

bool share_switch(const PciFunction& one, const PciFunction& other) {
    // Host bridge and root port come first. A switch begins with its upstream port.
    constexpr std::size_t kUpstreamPort = 2;
    return one.path.size() > kUpstreamPort && other.path.size() > kUpstreamPort &&
           std::equal(one.path.begin(), one.path.begin() + kUpstreamPort + 1, other.path.begin());
}

} // namespace rdmanet::inventory
