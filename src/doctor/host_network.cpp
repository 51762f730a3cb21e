// What else on the host touches its interfaces: tables that all pods share, bonds, network services.
#include "checks.hpp"
#include "files.hpp"

#include <rdmanet/base/text.hpp>

#include <algorithm>
#include <cstdint>
#include <sstream>
#include <string_view>

namespace rdmanet::doctor {
namespace {

using inventory::NetDevice;

struct NeighbourTable {
    std::string_view family;
    std::string_view statistics; // in /proc/net/stat
};
constexpr NeighbourTable kNeighbourTables[] = {{"ipv4", "arp_cache"}, {"ipv6", "ndisc_cache"}};

struct NeighbourUse {
    std::uint64_t entries = 0;   // of all kinds
    std::uint64_t overflows = 0; // since boot
};

/// A line for each processor, in hexadecimal: the first column is the same in all, the last one counts failures to add
/// an entry, "table_fulls" (neigh_stat_seq_show(), net/core/neighbour.c).
NeighbourUse use_of(const Context& context, const NeighbourTable& table) {
    constexpr std::size_t kTableFulls = 12;
    NeighbourUse use;
    const auto lines = lines_of(context.path(fmt::format("/proc/1/net/stat/{}", table.statistics)));
    for (std::size_t line = 1; line < lines.size(); ++line) {
        std::istringstream columns(lines[line]);
        std::string text;
        for (std::size_t column = 0; columns >> text; ++column) {
            const auto number = base::parse_integer<std::uint64_t>(text, 16).value_or(0);
            if (column == 0) use.entries = number;
            if (column == kTableFulls) use.overflows += number;
        }
    }
    return use;
}

/// All network namespaces share the table and its limit. When it is full, packets to new neighbours are lost. Permanent
/// entries do not count (neigh_alloc()), so only a table that was full proves anything.
void check_neighbours(const Context& context, Findings& found) {
    for (const NeighbourTable& table : kNeighbourTables) {
        const auto most = inventory::number_of<std::uint64_t>(
            context.path(fmt::format("/proc/sys/net/{}/neigh/default/gc_thresh3", table.family)));
        const NeighbourUse use = use_of(context, table);
        if (!most || use.overflows == 0 || use.entries * 2 < *most) continue;
        found.warning(
            "",
            fmt::format("the neighbour table of {}, which all pods share, was full {} times since boot: it has "
                        "{} entries, and gc_thresh3 is {}",
                        table.family, use.overflows, use.entries, *most),
            fmt::format("`sysctl net.{0}.neigh.default.gc_thresh3={1} net.{0}.neigh.default.gc_thresh2={2}`",
                        table.family, *most * 8, *most * 4));
    }
}

/// A driver that knows the bond has one RDMA device for it, and none for its ports (mlx5: "RoCE LAG").
void check_bonds(const Context& context, Findings& found) {
    for (const inventory::Device& device : context.inventory.devices)
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
    std::string_view fix;
};
constexpr NetworkService kNetworkServices[] = {
    {"NetworkManager", "/run/NetworkManager/devices", "managed=true",
     "for each of them: `nmcli device set {} managed no`"},
    {"systemd-networkd", "/run/systemd/netif/links", "ADMIN_STATE=configured",
     "write a .network file that matches them, such as {}, with \"Unmanaged=yes\" below [Link], then `networkctl "
     "reload`"},
};

bool manages(const Context& context, const NetworkService& service, const NetDevice& net) {
    const auto lines = lines_of(context.path(fmt::format("{}/{}", service.files, net.ifindex)));
    return std::ranges::find(lines, service.claim) != lines.end();
}

/// A service that manages a VF sets its addresses again, also when a pod has given it back.
void check_network_service(const Context& context, Findings& found) {
    for (const NetworkService& service : kNetworkServices) {
        std::size_t count = 0;
        const NetDevice* first = nullptr;
        for (const inventory::Device& device : context.inventory.devices)
            for (const NetDevice& net : device.net)
                if (net.place == 0 && device.pci && device.pci->pf && manages(context, service, net) && count++ == 0)
                    first = &net;
        if (first != nullptr)
            found.warning("",
                          fmt::format("{} manages {} (the first: {}), and may change them before a pod gets them",
                                      service.name, base::counted(count, "VF", "VFs"), first->name),
                          fmt::format(fmt::runtime(service.fix), base::shell_word(first->name)));
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
