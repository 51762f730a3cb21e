// What else on the host touches its interfaces: tables that all pods share, bonds, network services.
#include "checks.hpp"
#include "files.hpp"

#include <rdmanet/base/text.hpp>

#include <cstdint>

namespace rdmanet::doctor {
namespace {

using inventory::Device;
using inventory::NetDevice;

struct NeighbourTable {
    std::string_view family;
    std::string_view statistics; // in /proc/net/stat
};
constexpr NeighbourTable kNeighbourTables[] = {{"ipv4", "arp_cache"}, {"ipv6", "ndisc_cache"}};

/// The first column, the same in the line of each processor (neigh_stat_seq_show(), net/core/neighbour.c).
std::uint64_t entries_of(const Context& context, const NeighbourTable& table) {
    const auto lines = lines_of(context.path(fmt::format("/proc/1/net/stat/{}", table.statistics)));
    if (lines.size() < 2) return 0;
    return base::parse_integer<std::uint64_t>(lines[1].substr(0, lines[1].find(' ')), 16).value_or(0);
}

/// All network namespaces share the table and its limit. When it is full, packets to new neighbours are lost.
void check_neighbours(const Context& context, Findings& found) {
    for (const NeighbourTable& table : kNeighbourTables) {
        const auto most = inventory::number_of<std::uint64_t>(
            context.path(fmt::format("/proc/sys/net/{}/neigh/default/gc_thresh3", table.family)));
        const std::uint64_t entries = entries_of(context, table);
        if (!most || entries * 5 < *most * 4) continue;
        found.warning("",
                      fmt::format("the neighbour table of {} has {} entries of all pods, and gc_thresh3 allows {}",
                                  table.family, entries, *most),
                      fmt::format("`sysctl net.{0}.neigh.default.gc_thresh3={1} net.{0}.neigh.default.gc_thresh2={2}`",
                                  table.family, *most * 8, *most * 4));
    }
}

/// A driver that knows the bond has one RDMA device for it, and none for its ports (mlx5: "RoCE LAG").
void check_bonds(const Context& context, Findings& found) {
    for (const Device& device : context.inventory.devices)
        for (const NetDevice& net : device.net) {
            if (net.place != 0 || net.master.empty() || device.rdma.empty() ||
                device.rdma.front().name.find("bond") != std::string::npos ||
                !exists(context.path(fmt::format("/sys/class/net/{}/bonding", net.master))))
                continue;
            found.info(subject_of(device),
                       fmt::format("interface {} is a port of {}, and RDMA device {} is of this port alone: RDMA does "
                                   "not use the bond's other ports",
                                   net.name, net.master, device.rdma.front().name),
                       "bond both ports of one card whose driver can RoCE LAG (mlx5: modes 1, 2 and 4), without VFs");
        }
}

struct NetworkService {
    std::string_view name;
    std::string_view files; // one for each interface it knows, called by the ifindex
    std::string_view claim; // a line of the file
    std::string_view cure;
};
constexpr NetworkService kNetworkServices[] = {
    {"NetworkManager", "/run/NetworkManager/devices", "managed=true", "`nmcli device set {} managed no`"},
    {"systemd-networkd", "/run/systemd/netif/links", "ADMIN_STATE=configured",
     "write a .network file that matches {} with \"Unmanaged=yes\" below [Link], then `networkctl reload`"},
};

/// A service that manages a VF sets its addresses again, also when a pod has given it back.
void check_network_service(const Context& context, Findings& found) {
    for (const Device& device : context.inventory.devices)
        for (const NetDevice& net : device.net) {
            if (net.place != 0 || !device.pci || !device.pci->pf) continue;
            for (const NetworkService& service : kNetworkServices)
                for (const std::string& line : lines_of(context.path(fmt::format("{}/{}", service.files, net.ifindex))))
                    if (line == service.claim)
                        found.warning(subject_of(device),
                                      fmt::format("{} manages VF {}, and may change it before a pod gets it",
                                                  service.name, net.name),
                                      fmt::format(fmt::runtime(service.cure), base::shell_word(net.name)));
        }
}

constexpr Check kHostNetworkChecks[] = {
    {{"neighbours", Layer::network, "room in the neighbour tables that pods share"}, check_neighbours},
    {{"bonds", Layer::network, "RDMA devices of bonds"}, check_bonds},
    {{"network-service", Layer::network, "VFs that NetworkManager or systemd-networkd manages"}, check_network_service},
};

} // namespace

std::span<const Check> host_network_checks() {
    return kHostNetworkChecks;
}

} // namespace rdmanet::doctor
