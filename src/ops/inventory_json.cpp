#include "inventory_text.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/guid.hpp>
#include <rdmanet/json/writer.hpp>
#include <rdmanet/ops/inventory_report.hpp>

namespace rdmanet::ops {
namespace {

using json::Writer;

constexpr std::uint32_t kVersion = 1; // changes when a key changes its meaning or goes

template <class T>
void write_if(Writer& writer, const char* key, const std::optional<T>& value) {
    if (value) writer.member(key, *value);
}

void write_if(Writer& writer, const char* key, const std::string& text) {
    if (!text.empty()) writer.member(key, text);
}

void write(Writer& writer, const inventory::Namespace& each, std::size_t number) {
    writer.begin_object().member("number", std::uint64_t{number}).member("inode", each.inode);
    write_if(writer, "mountPoint", each.mount_point);
    if (each.pid != 0) writer.member("pid", each.pid);
    write_if(writer, "process", each.process);
    write_if(writer, "podNamespace", each.pod.pod_namespace);
    write_if(writer, "podName", each.pod.name);
    write_if(writer, "podUID", each.pod.uid.empty() ? each.pod_uid : each.pod.uid);
    write_if(writer, "trouble", each.trouble);
    writer.end_object();
}

void write(Writer& writer, const inventory::PciFunction& function) {
    writer.member("id", function.id_text()).member("driver", function.driver);
    write_if(writer, "numaNode", function.numa_node);
    if (function.link_width != 0)
        writer.key("pcieLink")
            .begin_object()
            .member("speed", function.link_speed)
            .member("width", function.link_width)
            .member("mostSpeed", function.most_link_speed)
            .member("mostWidth", function.most_link_width)
            .end_object();
    writer.member("path", function.path);
    if (function.pf) writer.member("pf", function.pf->to_string()).member("vf", function.vf_number);
    if (function.most_vfs != 0) writer.member("vfs", function.vfs).member("mostVfs", function.most_vfs);
}

void write_members(Writer& writer, const inventory::NetDevice& net) {
    writer.member("namespace", std::uint64_t{net.place})
        .member("name", net.name)
        .member("ifindex", net.ifindex)
        .member("mac", net.hardware_address)
        .member("mtu", net.mtu)
        .member("up", net.is_up)
        .member("carrier", net.has_carrier);
    write_if(writer, "kind", net.kind);
    write_if(writer, "speedMbps", net.speed);
    write_if(writer, "master", net.master);
}

void write(Writer& writer, const inventory::RdmaPort& port) {
    writer.begin_object()
        .member("port", port.number)
        .member("state", kernel::to_string(port.state))
        .member("physicalState", port.physical_state)
        .member("linkLayer", port.link_layer)
        .member("rate", port.rate)
        .member("gidTableLength", std::uint64_t{port.most_gids});
    if (port.gids) writer.member("gidsUsed", std::uint64_t{*port.gids});
    write_if(writer, "netDevice", port.net_device);
    write_if(writer, "lid", port.lid);
    write_if(writer, "smLid", port.sm_lid);
    writer.end_object();
}

void write(Writer& writer, const inventory::RdmaDevice& device) {
    writer.begin_object()
        .member("namespace", std::uint64_t{device.place})
        .member("name", device.name)
        .member("nodeGUID", base::Guid(device.node_guid).to_string())
        .member("protocol", device.protocol)
        .member("firmware", device.firmware);
    writer.key("ports").begin_array();
    for (const inventory::RdmaPort& port : device.ports) write(writer, port);
    writer.end_array();
    writer.member("files", device.files);
    writer.end_object();
}

void write(Writer& writer, const inventory::Inventory& inventory, const inventory::Device& device) {
    writer.begin_object();
    write_if(writer, "address", name_of(device));
    writer.member("role", device.parent ? "SF" : !device.pci ? "software" : device.pci->pf ? "VF" : "PF");
    if (device.pci) write(writer, *device.pci);
    if (device.parent) writer.member("pf", device.parent->to_string());
    writer.key("netDevices").begin_array();
    for (const inventory::NetDevice& net : device.net) {
        writer.begin_object();
        write_members(writer, net);
        writer.end_object();
    }
    writer.end_array().key("rdmaDevices").begin_array();
    for (const inventory::RdmaDevice& rdma : device.rdma) write(writer, rdma);
    writer.end_array();
    writer.member("sharesSwitchWith", neighbours_of(inventory, device));
    writer.end_object();
}

void write(Writer& writer, const inventory::Interface& interface) {
    writer.begin_object();
    write_members(writer, interface.net);
    write_if(writer, "parent", interface.parent);
    write_if(writer, "network", interface.network);
    writer.key("addresses").begin_array();
    for (const base::IpPrefix& address : interface.addresses) writer.value(address.to_string());
    writer.end_array();
    if (!interface.rdma_device.empty())
        writer.member("rdmaDevice", interface.rdma_device)
            .member("rdmaPort", interface.rdma_port)
            .member("rdmaShared", interface.is_shared);
    writer.key("gids").begin_array();
    for (const kernel::GidEntry& gid : interface.gids)
        writer.begin_object()
            .member("index", gid.index)
            .member("address", gid.address.to_string())
            .member("type", gid_type_of(gid))
            .end_object();
    writer.end_array();
    writer.member("files", interface.files);
    writer.end_object();
}

} // namespace

std::string to_json(const inventory::Inventory& inventory) {
    Writer writer(json::Layout::indented);
    writer.begin_object().member("version", kVersion).member("node", inventory.host).member("kernel", inventory.kernel);
    if (inventory.mode())
        writer.member("rdmaMode", *inventory.mode() == kernel::RdmaNetnsMode::shared ? "shared" : "exclusive");
    writer.key("namespaces").begin_array();
    for (std::size_t number = 0; number < inventory.namespaces.size(); ++number)
        write(writer, inventory.namespaces[number], number);
    writer.end_array().key("devices").begin_array();
    for (const inventory::Device& device : inventory.devices) write(writer, inventory, device);
    writer.end_array().key("accelerators").begin_array();
    for (const inventory::PciFunction& function : inventory.others) {
        writer.begin_object().member("address", function.address.to_string());
        write(writer, function);
        writer.end_object();
    }
    writer.end_array().key("interfaces").begin_array();
    for (const inventory::Interface& interface : inventory.interfaces) write(writer, interface);
    writer.end_array();
    writer.member("unseen", inventory.unseen);
    return fmt::format("{}\n", writer.end_object().to_text());
}

} // namespace rdmanet::ops
