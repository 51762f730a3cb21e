// Interfaces on the host.
#include "checks.hpp"
#include "files.hpp"

#include <rdmanet/base/text.hpp>

#include <set>

namespace rdmanet::doctor {

bool is_host_parent(const inventory::Device& device, const inventory::NetDevice& net) {
    return net.place == 0 && !device.rdma.empty() && (!device.pci || !device.pci->pf);
}

namespace {

using inventory::Device;
using inventory::Interface;

/// What does not work without the interface. An InfiniBand port needs only its driver (ib_ipoib is a user of it).
std::string_view loss_of(const Device& device) {
    if (device.rdma.front().protocol == "ib") return "IPoIB children of pods on it have no carrier";
    return device.pci && device.pci->vfs != 0 ? "its RDMA port is down, too, and those of its VFs"
                                              : "its RDMA port is down, too";
}

void check_parent_up(const Context& context, Findings& found) {
    for (const Device& device : context.inventory.devices)
        for (const inventory::NetDevice& net : device.net)
            if (is_host_parent(device, net) && !net.is_up && !found.has_failed(subject_of(device)))
                found.warning(subject_of(device), fmt::format("interface {} is down, so {}", net.name, loss_of(device)),
                              fmt::format("`ip link set {} up`, and let the node's network service do that at boot",
                                          base::shell_word(net.name)));
}

/// The RDMA MTU is the largest of 256, 512, ... 4096 bytes that fits with RoCE's headers (iboe_get_mtu(),
/// include/rdma/ib_addr.h).
void check_mtu(const Context& context, Findings& found) {
    constexpr unsigned kHeaders = 96;
    constexpr unsigned kMostRdmaMtu = 4096;
    for (const Device& device : context.inventory.devices)
        for (const inventory::NetDevice& net : device.net) {
            if (!is_host_parent(device, net) || !net.is_up || device.rdma.front().protocol != "roce") continue;
            unsigned rdma_mtu = kMostRdmaMtu;
            while (rdma_mtu > 256 && rdma_mtu + kHeaders > net.mtu) rdma_mtu /= 2;
            if (rdma_mtu < kMostRdmaMtu)
                found.info(subject_of(device),
                           fmt::format("interface {} has MTU {}, so RDMA uses packets of {} bytes", net.name, net.mtu,
                                       rdma_mtu),
                           fmt::format("for packets of {} bytes, set MTU 4200 or more on parent, VFs and switches",
                                       kMostRdmaMtu));
        }
}

int sysctl_of(const Context& context, const std::string& interface, std::string_view name) {
    const auto value = [&](const std::string& scope) {
        return base::parse_integer<int>(
                   line_of(context.path(fmt::format("/proc/sys/net/ipv4/conf/{}/{}", scope, name))))
            .value_or(0);
    };
    return std::max(value("all"), value(interface)); // the kernel takes the larger one (inetdevice.h, IN_DEV_MAXCONF)
}

/// Not for addresses of the node's other interfaces.
bool answers_for_itself(const Context& context, const Interface& interface) {
    return sysctl_of(context, interface.net.name, "arp_ignore") >= 1 &&
           sysctl_of(context, interface.net.name, "arp_announce") >= 2;
}

/// Two interfaces in one subnet answer ARP for each other's addresses, and replies leave by either.
void check_rails(const Context& context, Findings& found) {
    std::set<std::string> told;
    const auto& interfaces = context.inventory.interfaces;
    for (const Interface& one : interfaces)
        for (const Interface& other : interfaces) {
            if (one.net.place != 0 || other.net.place != 0 || one.net.name >= other.net.name) continue;
            for (const base::IpPrefix& address : one.addresses)
                for (const base::IpPrefix& second : other.addresses) {
                    if (address.family() != base::Family::v4 || address.network() != second.network() ||
                        address.length() != second.length())
                        continue;
                    const bool is_safe = answers_for_itself(context, one) && answers_for_itself(context, other);
                    if (!is_safe && told.insert(fmt::format("{} {}", one.net.name, other.net.name)).second)
                        found.warning(one.net.name,
                                      fmt::format("{} and {} are both in {}/{}: each answers for the other's address",
                                                  one.net.name, other.net.name, address.network(), address.length()),
                                      "`sysctl net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2`, or "
                                      "give each a subnet of its own");
                }
        }
}

constexpr Check kNetworkChecks[] = {
    {{"parent-up", Layer::network, "interfaces of RDMA functions on the host"}, check_parent_up},
    {{"mtu", Layer::network, "MTU of RoCE interfaces"}, check_mtu},
    {{"rails", Layer::network, "two RDMA interfaces in one subnet"}, check_rails},
};

} // namespace

std::span<const Check> network_checks() {
    return kNetworkChecks;
}

} // namespace rdmanet::doctor
