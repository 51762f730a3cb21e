#include "inventory_text.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/ops/inventory_report.hpp>
#include <rdmanet/ops/table.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

namespace rdmanet::ops {
namespace {

using inventory::Interface;
using inventory::Inventory;
using Row = std::vector<std::string>;

Row& append(Row& row, Row more) {
    std::move(more.begin(), more.end(), std::back_inserter(row));
    return row;
}

std::string mode_text(const Inventory& inventory) {
    if (!inventory.mode()) return "no RDMA";
    return *inventory.mode() == kernel::RdmaNetnsMode::shared ? "shared" : "exclusive";
}

Row function_header(Columns columns) {
    Row row{"FUNCTION", "ROLE", "DRIVER", "INTERFACE", "LINK", "SPEED", "RDMA DEVICE", "PORT STATE", "NUMA", "WHERE"};
    if (columns == Columns::wide) append(row, {"ID", "PCIE", "FIRMWARE", "LINK LAYER", "RATE", "MASTER", "GPUS"});
    return row;
}

std::string pcie_of(const inventory::PciFunction* function) {
    if (function == nullptr || function->link_width == 0) return {};
    return fmt::format("{} x{}", function->link_speed, function->link_width);
}

/// The namespace of the two, or of each if they are apart.
std::string where_are(const Inventory& inventory, const inventory::NetDevice* net, const inventory::RdmaDevice* rdma) {
    if (net == nullptr) return rdma == nullptr ? std::string() : place_name(inventory, rdma->place);
    std::string where = place_name(inventory, net->place);
    if (rdma == nullptr || rdma->place == net->place) return where;
    return fmt::format("{}, RDMA device: {}", where, place_name(inventory, rdma->place));
}

/// A function with several net or RDMA devices has several rows.
void add_rows(const Inventory& inventory, const inventory::Device& device, Columns columns, Table& table) {
    const inventory::PciFunction* const function = function_of(inventory, device);
    const std::size_t rows = std::max({device.net.size(), device.rdma.size(), std::size_t{1}});
    for (std::size_t number = 0; number < rows; ++number) {
        const inventory::NetDevice* const net = number < device.net.size() ? &device.net[number] : nullptr;
        const inventory::RdmaDevice* const rdma = number < device.rdma.size() ? &device.rdma[number] : nullptr;
        const inventory::RdmaPort* const port =
            rdma != nullptr && !rdma->ports.empty() ? &rdma->ports.front() : nullptr;
        Row row{name_of(device),
                role_of(device),
                device.pci ? device.pci->driver : std::string(),
                net != nullptr    ? net->name
                : port != nullptr ? port->net_device
                                  : std::string(),
                net != nullptr ? state_of(*net) : std::string(),
                net != nullptr ? speed_of(*net) : std::string(),
                rdma != nullptr ? rdma->name : std::string(),
                port != nullptr ? state_of(*port) : std::string(),
                function != nullptr && function->numa_node ? std::to_string(*function->numa_node) : std::string(),
                where_are(inventory, net, rdma)};
        if (columns == Columns::wide)
            append(row,
                   {device.pci ? device.pci->id_text() : std::string(), pcie_of(function),
                    rdma != nullptr ? rdma->firmware : std::string(),
                    port != nullptr ? port->link_layer : std::string(), port != nullptr ? port->rate : std::string(),
                    net != nullptr ? net->master : std::string(), base::join(neighbours_of(inventory, device))});
        table.add_row(std::move(row));
    }
}

Row interface_header(Columns columns) {
    Row row{"POD", "INTERFACE", "ADDRESS", "RDMA PORT", "GID INDEX", "GID TYPE", "NETWORK"};
    if (columns == Columns::wide) append(row, {"KIND", "PARENT", "MTU", "MAC", "FILES"});
    return row;
}

/// As NCCL_IB_HCA and UCX_NET_DEVICES want it: "mlx5_0:1".
std::string rdma_of(const Inventory& inventory, const Interface& interface) {
    if (interface.rdma_device.empty()) return {};
    const bool is_hidden = interface.is_shared && inventory.mode() == kernel::RdmaNetnsMode::exclusive;
    return fmt::format("{}:{}{}", interface.rdma_device, interface.rdma_port,
                       is_hidden ? " (the pod cannot see it)" : "");
}

bool is_link_local(const base::IpPrefix& address) {
    return address.address().is_link_local();
}

/// Link-local addresses say nothing where there are others.
std::vector<base::IpPrefix> shown_addresses(const Interface& interface, Columns columns) {
    std::vector<base::IpPrefix> shown = interface.addresses;
    const bool has_others = !std::ranges::all_of(shown, is_link_local);
    if (columns == Columns::usual && has_others) std::erase_if(shown, is_link_local);
    return shown;
}

/// The GID that programs want: of RoCE v2, or else the first one.
const kernel::GidEntry* best_gid(const std::vector<kernel::GidEntry>& gids, const base::IpPrefix* address) {
    const kernel::GidEntry* best = nullptr;
    for (const kernel::GidEntry& gid : gids) {
        if (address != nullptr && !gid.netdev.empty() && gid.address != address->address()) continue;
        if (best == nullptr || (best->type != kernel::GidType::roce_v2 && gid.type == kernel::GidType::roce_v2))
            best = &gid;
    }
    return best;
}

/// A row for each address.
void add_rows(const Inventory& inventory, const Interface& interface, Columns columns, Table& table) {
    const std::vector<base::IpPrefix> addresses = shown_addresses(interface, columns);
    if (columns == Columns::usual && addresses.empty() && interface.net.place == 0) return; // a free VF
    for (std::size_t number = 0; number < std::max<std::size_t>(addresses.size(), 1); ++number) {
        const base::IpPrefix* const address = number < addresses.size() ? &addresses[number] : nullptr;
        const kernel::GidEntry* const gid = best_gid(interface.gids, address);
        Row row{place_name(inventory, interface.net.place),
                interface.net.name,
                address != nullptr ? address->to_string() : std::string(),
                rdma_of(inventory, interface),
                gid != nullptr ? std::to_string(gid->index) : std::string(),
                gid != nullptr ? gid_type_of(*gid) : std::string(),
                interface.network};
        if (columns == Columns::wide)
            append(row, {interface.net.kind, interface.parent, std::to_string(interface.net.mtu),
                         interface.net.hardware_address, base::join(interface.files)});
        table.add_row(std::move(row));
    }
}

} // namespace

std::string to_table(const Inventory& inventory, Columns columns) {
    Table node({"NODE", "KERNEL", "RDMA MODE"});
    node.add_row({inventory.host, inventory.kernel, mode_text(inventory)});
    std::string text = node.to_text();

    Table functions(function_header(columns));
    for (const inventory::Device& device : inventory.devices) add_rows(inventory, device, columns, functions);
    text += inventory.devices.empty() ? "\nno network function on the PCI bus, and no RDMA device\n"
                                      : fmt::format("\n{}", functions.to_text());

    Table interfaces(interface_header(columns));
    for (const Interface& interface : inventory.interfaces) add_rows(inventory, interface, columns, interfaces);
    text +=
        inventory.interfaces.empty() ? "\nno interface that can use RDMA\n" : fmt::format("\n{}", interfaces.to_text());

    for (const std::string& what : inventory.unseen) text += fmt::format("\nnot seen: {}\n", what);
    return text;
}

} // namespace rdmanet::ops
