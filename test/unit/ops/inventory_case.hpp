// Machines of any size, for tests of what an inventory looks like.
#pragma once

#include <rdmanet/inventory/inventory.hpp>

#include <rdmanet/base/format.hpp>

#include <fmt/format.h>

#include <string>

namespace rdmanet::ops::test {

inline base::PciAddress pci(const std::string& text) {
    return base::PciAddress::parse(text).value();
}

inline inventory::RdmaDevice rdma_device(const std::string& name, std::size_t place, const std::string& net,
                                         kernel::PortState state = kernel::PortState::active) {
    return {.place = place,
            .name = name,
            .node_guid = 0x0252'00ff'fe00'0001U,
            .protocol = "roce",
            .firmware = "28.39.1002",
            .ports = {{.number = 1,
                       .state = state,
                       .physical_state = state == kernel::PortState::active ? "LinkUp" : "Polling",
                       .link_layer = "Ethernet",
                       .rate = "400 Gb/sec (4X NDR)",
                       .net_device = net,
                       .most_gids = 256}},
            .files = {"uverbs0"}};
}

inline inventory::NetDevice net_device(const std::string& name, std::size_t place) {
    return {.place = place,
            .name = name,
            .ifindex = 7,
            .hardware_address = "02:00:00:00:00:07",
            .mtu = 4200,
            .is_up = true,
            .has_carrier = true,
            .speed = 400'000};
}

/// NICs with a GPU behind the same switch. Every other VF of each NIC is in a pod of its own; one PF is without cable.
inline inventory::Inventory machine(unsigned nics, unsigned vfs) {
    inventory::Inventory all{.host = "worker-1",
                             .kernel = "6.1.0-56-amd64",
                             .rdma_system = kernel::RdmaSystem{.netns_mode = kernel::RdmaNetnsMode::exclusive}};
    all.namespaces.push_back({.inode = 1, .path = "/proc/1/ns/net"});
    for (unsigned nic = 0; nic < nics; ++nic) {
        const std::string bridge = fmt::format("pci{:04x}:{:02x}", nic / 2, 0x10 + 0x20 * (nic % 2));
        const std::string bus = fmt::format("{:04x}:{:02x}", nic / 2, 0x18 + 0x20 * (nic % 2));
        const std::vector<std::string> path{bridge, fmt::format("{}:00.0", bus), fmt::format("{}:01.0", bus),
                                            fmt::format("{}:02.0", bus)};
        const base::PciAddress pf = pci(fmt::format("{}:10.0", bus));
        const std::string name = fmt::format("ens{}np0", nic);
        all.devices.push_back({.address = pf,
                               .pci = inventory::PciFunction{.address = pf,
                                                             .vendor = 0x15b3,
                                                             .device = 0x1021,
                                                             .class_code = 0x020000,
                                                             .driver = "mlx5_core",
                                                             .numa_node = static_cast<int>(nic % 2),
                                                             .link_speed = "32.0 GT/s PCIe",
                                                             .most_link_speed = "32.0 GT/s PCIe",
                                                             .link_width = 16,
                                                             .most_link_width = 16,
                                                             .path = path,
                                                             .vfs = vfs,
                                                             .most_vfs = 16},
                               .net = {net_device(name, 0)},
                               .rdma = {rdma_device(fmt::format("mlx5_{}", nic), 0, name,
                                                    nic == 1 ? kernel::PortState::down : kernel::PortState::active)}});
        for (unsigned vf = 0; vf < vfs; ++vf) {
            const bool used = vf % 2 == 0;
            if (used)
                all.namespaces.push_back({.inode = all.namespaces.size() + 1,
                                          .path = "/run/netns/x",
                                          .pod = {"training", fmt::format("job-{}-worker-{}", nic, vf), "uid"}});
            const std::size_t place = used ? all.namespaces.size() - 1 : 0;
            const base::PciAddress address = pci(fmt::format("{}:{:02x}.{}", bus, 0x11 + vf / 8, vf % 8));
            const std::string net = used ? "net1" : fmt::format("ens{}v{}", nic, vf);
            all.devices.push_back({.address = address,
                                   .pci = inventory::PciFunction{.address = address,
                                                                 .vendor = 0x15b3,
                                                                 .device = 0x101e,
                                                                 .class_code = 0x020000,
                                                                 .driver = "mlx5_core",
                                                                 .numa_node = static_cast<int>(nic % 2),
                                                                 .path = path,
                                                                 .pf = pf,
                                                                 .vf_number = vf},
                                   .net = {net_device(net, place)},
                                   .rdma = {rdma_device(fmt::format("mlx5_{}", 8 + nic * vfs + vf), place, net)}});
            if (used)
                all.interfaces.push_back({.net = net_device("net1", place),
                                          .addresses = {base::IpPrefix::parse("10.97.0.5/16").value()},
                                          .rdma_device = fmt::format("mlx5_{}", 8 + nic * vfs + vf),
                                          .rdma_port = 1,
                                          .gids = {{.index = 3,
                                                    .address = base::IpAddress::parse("10.97.0.5").value(),
                                                    .type = kernel::GidType::roce_v2,
                                                    .netdev = "net1"}},
                                          .files = {"uverbs0"},
                                          .network = "vfs"});
        }
        all.others.push_back({.address = pci(fmt::format("{}:1f.0", bus)),
                              .vendor = 0x10de,
                              .device = 0x2330,
                              .class_code = 0x030200,
                              .driver = "nvidia",
                              .most_link_width = 16,
                              .path = path});
    }
    return all;
}

} // namespace rdmanet::ops::test
