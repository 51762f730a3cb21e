#include "host_names.hpp"

#include "files.hpp"
#include "host_links.hpp"
#include "lists.hpp"

#include <rdmanet/base/text.hpp>

#include <algorithm>
#include <string_view>
#include <vector>

namespace rdmanet::doctor {
namespace {

using inventory::Device;
using inventory::NetDevice;
using inventory::RdmaDevice;
using kernel::Link;

const Link* find_interface_of_host(const Context& context, const std::string& name) {
    const std::vector<Link>& links = context.host_links.links();
    const auto at = std::find_if(links.begin(), links.end(), [&](const Link& link) {
        return link.name == name || std::find(link.altnames.begin(), link.altnames.end(), name) != link.altnames.end();
    });
    return at == links.end() ? nullptr : &*at;
}

const Device* find_owner(const Context& context, const std::string& name) {
    for (const Device& device : context.inventory.devices)
        for (const RdmaDevice& rdma : device.rdma)
            if (rdma.place == 0 && rdma.name == name) return &device;
    return nullptr;
}

/// The kernel names the net device of a port only for Ethernet. An IPoIB interface is a net device of the function.
std::string find_net_device(const Device& device, const std::string& name) {
    for (const RdmaDevice& rdma : device.rdma)
        if (rdma.name == name && !rdma.ports.empty() && !rdma.ports.front().net_device.empty())
            return rdma.ports.front().net_device;
    for (const NetDevice& net : device.net)
        if (net.place == 0 && net.kind == "ipoib") return net.name;
    return {};
}

/// As ib_alloc_device()'s callers have it: the driver's name, perhaps "_", and a number.
bool is_name_of_driver(const std::string& name) {
    constexpr std::string_view kFormats[] = {"mlx5_",  "mlx4_", "bnxt_re", "irdma", "qedr", "ocrdma", "hns_",
                                             "cxgb4_", "efa_",  "erdma_",  "mana_", "qib",  "hfi1_",  "vmw_pvrdma"};
    return std::any_of(std::begin(kFormats), std::end(kFormats), [&](std::string_view format) {
        return name.starts_with(format) && base::parse_integer<unsigned>(name.substr(format.size())).has_value();
    });
}

/// "rocep59s0f0", "ibp1s0": a protocol, then a place ("p", "s", "o") or a GUID ("x").
bool is_name_of_udev(const std::string& name) {
    for (const std::string_view protocol : {"roce", "ib", "iw", "opa", "usnic"})
        if (name.starts_with(protocol) && name.size() > protocol.size() + 1)
            return std::string_view("psox").find(name[protocol.size()]) != std::string_view::npos;
    return false;
}

} // namespace

bool is_on_host(const Context& context, const std::string& name) {
    return find_owner(context, name) != nullptr || find_interface_of_host(context, name) != nullptr;
}

const Link* find_parent_link(const Context& context, const std::string& master) {
    if (const Link* const link = find_interface_of_host(context, master)) return link;
    const Device* const device = find_owner(context, master);
    const std::string net = device != nullptr ? find_net_device(*device, master) : std::string();
    return net.empty() ? nullptr : find_interface_of_host(context, net);
}

std::string names_instead_of(const Context& context, const std::string& name) {
    if (!is_name_of_driver(name)) return {};
    bool renames = false;
    for (const char* folder : {"/usr/lib/udev/rules.d", "/lib/udev/rules.d", "/etc/udev/rules.d"})
        renames = renames || exists(context.path(fmt::format("{}/60-rdma-persistent-naming.rules", folder)));
    std::vector<std::string> names;
    for (const Device& device : context.inventory.devices)
        for (const RdmaDevice& rdma : device.rdma) {
            if (rdma.place != 0 || (device.pci && device.pci->pf) || is_name_of_driver(rdma.name)) continue;
            renames = renames || is_name_of_udev(rdma.name);
            names.push_back(rdma.name);
        }
    return renames ? list_of(names) : std::string();
}

} // namespace rdmanet::doctor
