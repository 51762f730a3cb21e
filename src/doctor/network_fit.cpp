#include "network_fit.hpp"

#include "context.hpp"
#include "files.hpp"
#include "host_links.hpp"
#include "lists.hpp"
#include "network_ranges.hpp"

#include <rdmanet/attach/misfit.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/kernel/link.hpp>

#include <linux/if_arp.h>

#include <algorithm>
#include <string_view>
#include <vector>

namespace rdmanet::doctor {
namespace {

using base::quoted;
using inventory::Device;
using inventory::RdmaDevice;
using kernel::Link;

const Link* find_interface_of_host(const Context& context, const std::string& name) {
    const std::vector<Link>& links = context.host_links.links();
    const auto at = std::ranges::find_if(links, [&](const Link& link) {
        return link.name == name || std::ranges::find(link.altnames, name) != link.altnames.end();
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
    for (const inventory::NetDevice& net : device.net)
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

/// Whether a network may name it as its master: an interface, by any of its names, or an RDMA device. Throws
/// base::SystemError and kernel::NetlinkError.
bool is_on_host(const Context& context, const std::string& name) {
    return find_owner(context, name) != nullptr || find_interface_of_host(context, name) != nullptr;
}

/// The interface of that name, or the one of that RDMA device; nullptr if there is none. Valid as long as the context.
/// Throws as above.
const Link* find_parent_link(const Context& context, const std::string& master) {
    if (const Link* const link = find_interface_of_host(context, master)) return link;
    const Device* const device = find_owner(context, master);
    const std::string net = device != nullptr ? find_net_device(*device, master) : std::string();
    return net.empty() ? nullptr : find_interface_of_host(context, net);
}

/// The RDMA devices of the host's PFs, eight at most, if `name` is one that a driver gives, and the node's udev
/// renames devices: "rocep1s0f0, rocep1s0f1". Empty otherwise. Reads rdma-core's rule
/// (kernel-boot/rdma-persistent-naming.rules).
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

void refuse(const Network& network, const attach::Misfit& misfit, Findings& found) {
    report_misfit(network, fmt::format("ADD refuses it: {}", misfit.what), misfit.fix, found);
}

void examine_absent_parent(const Network& network, const config::Config& config, const Context& context,
                           Findings& found) {
    const std::string what =
        fmt::format("its master {} is neither an interface nor an RDMA device of this node", quoted(*config.master));
    const std::string renamed = names_instead_of(context, *config.master);
    if (!renamed.empty())
        report_misfit(network, what,
                      fmt::format("set \"master\" to the name that udev gave the device "
                                  "(60-rdma-persistent-naming.rules): {}",
                                  renamed),
                      found);
    else if (network.is_definition)
        found.info(network.place, what, "if its pods shall run here, set \"master\" to a name that all nodes have");
    else
        found.warning(network.place, what, "set \"master\" to one that `ip link` or `rdma link` shows");
}

/// A child that does not need RDMA gets none in mode exclusive.
void examine_mode(const Network& network, const std::string& name, const config::Config& config, const Context& context,
                  Findings& found) {
    const auto& system = context.inventory.rdma_system;
    if (!system) return;
    if (const auto misfit = config.is_device() ? attach::find_device_misfit(config.rdma, *system, name)
                                               : attach::find_child_misfit(config.rdma, system->mode(), name)) {
        if (misfit->is_refused)
            refuse(network, *misfit, found);
        else
            found.info(network.place, fmt::format("its pods get no RDMA: {}", misfit->what), misfit->fix);
    }
}

/// Whether the parent is of the right kind, and its MTU suffices.
void examine_parent(const Network& network, const config::Config& config, const Context& context, const Link& parent,
                    Findings& found) {
    auto misfit = attach::find_parent_misfit(parent, config);
    if (!misfit) return;
    const bool is_ethernet = parent.hardware_type == ARPHRD_ETHER;
    if (config.is_ipoib() && is_ethernet) misfit->fix = "set \"attach\" to \"macvlan\" or \"ipvlan\"";
    if (!network.is_definition && (config.is_ipoib() ? is_ethernet : parent.is_infiniband()))
        misfit->fix += fix_by_firmware(context.inventory, parent.parent_device,
                                       config.is_ipoib() ? PortKind::infiniband : PortKind::ethernet);
    refuse(network, *misfit, found);
}

/// macvtap and ipvtap devices are children of these kinds, too.
std::string_view family_of(std::string_view kind) {
    if (kind == "macvlan" || kind == "macvtap") return "macvlan";
    if (kind == "ipvlan" || kind == "ipvtap") return "ipvlan";
    return {};
}

/// A child of the parent of the other kind, with its place; empty if there is none. The inventory has children of RDMA
/// parents in all namespaces.
std::string find_child_in_the_way(const Context& context, const std::vector<Link>& links, const Link& parent,
                                  std::string_view family) {
    const auto is_other = [&](std::string_view kind) { return !family_of(kind).empty() && family_of(kind) != family; };
    for (const Link& link : links)
        if (link.is_child_of(parent.ifindex) && !link.parent_netnsid && is_other(link.kind)) return link.name;
    for (const inventory::Interface& each : context.inventory.interfaces)
        if (each.parent == parent.name && is_other(each.net.kind))
            return each.net.place == 0
                       ? each.net.name
                       : fmt::format("{} in {}", each.net.name, context.inventory.namespaces[each.net.place]);
    return {};
}

/// An interface hands what it receives to one handler: macvlan, ipvlan, a bridge, a bond or a team (EBUSY of
/// netdev_rx_handler_register(), net/core/dev.c).
void examine_use_of_parent(const Network& network, const config::Config& config, const Context& context,
                           const std::vector<Link>& links, const Link& parent, Findings& found) {
    const std::string_view family = family_of(config.kind());
    if (family.empty()) return;
    for (const Link& master : links) {
        const bool takes_all =
            master.kind == "bond" || master.kind == "bridge" || master.kind == "team" || master.kind == "openvswitch";
        if (parent.master_ifindex == master.ifindex && takes_all)
            refuse(network,
                   {.what = fmt::format("parent {} is a port of {} {}, so it cannot have {} children",
                                        quoted(parent.name), master.kind, quoted(master.name), family),
                    .fix = master.kind == "openvswitch" ? "set \"master\" to an interface that is no port"
                                                        : fmt::format("set \"master\" to {}", quoted(master.name))},
                   found);
    }
    const std::string child = find_child_in_the_way(context, links, parent, family);
    const std::string_view other = family == "macvlan" ? "ipvlan" : "macvlan";
    if (!child.empty())
        refuse(network,
               {.what = fmt::format("parent {} has {} children ({}), so it cannot have {} children",
                                    quoted(parent.name), other, child, family),
                .fix = fmt::format("set \"attach\": \"{}\", or another \"master\"", other)},
               found);
}

} // namespace

void report_misfit(const Network& network, const std::string& what, const std::string& fix, Findings& found) {
    if (network.is_definition)
        found.info(network.place, what, fmt::format("if its pods shall run here, {}", fix));
    else
        found.warning(network.place, what, fix);
}

std::string fix_by_firmware(const inventory::Inventory& inventory, const std::string& address, PortKind wanted) {
    for (const inventory::Device& device : inventory.devices)
        if (device.pci && device.pci->vendor == kNvidia && !device.pci->pf &&
            device.pci->address.to_string() == address)
            return fmt::format(", or, if the card is for both (VPI), change the port with `mlxconfig -d {} set "
                               "LINK_TYPE_P{}={}` and reboot",
                               address, address.ends_with(".1") ? 2 : 1, wanted == PortKind::infiniband ? 1 : 2);
    return {};
}

void examine_fit(const Network& network, const std::string& name, const config::Config& config, const Context& context,
                 SharedParents& parents, Findings& found) {
    examine_mode(network, name, config, context, found);
    if (!config.master || config.is_device() || config.link_in_container) return;
    if (!is_on_host(context, *config.master)) return examine_absent_parent(network, config, context, found);
    const Link* const parent = find_parent_link(context, *config.master);
    if (parent == nullptr) return;
    const auto& links = context.host_links.links();
    examine_parent(network, config, context, *parent, found);
    examine_use_of_parent(network, config, context, links, *parent, found);
    if (const auto misfit = find_range_misfit(config, context.host_links.routes(), links, *parent))
        report_misfit(network, misfit->what, misfit->fix, found);
    if (const auto family = family_of(config.kind()); !family.empty()) parents.take(network, parent->name, family);
}

} // namespace rdmanet::doctor
