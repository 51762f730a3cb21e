// How packets of one pod leave it: GID indexes and routes.
#include "checks.hpp"
#include "lists.hpp"
#include "pod_view.hpp"

#include <rdmanet/kernel/link.hpp>
#include <rdmanet/kernel/route.hpp>

#include <algorithm>
#include <set>

namespace rdmanet::doctor {
namespace {

using base::IpAddress;
using base::IpPrefix;
using inventory::Interface;

/// The GID index that programs choose: that of a RoCE v2 address, IPv4 if there is one. nullopt for InfiniBand.
std::optional<unsigned> gid_index_of(const Interface& interface) {
    std::optional<kernel::GidEntry> best;
    for (const kernel::GidEntry& gid : interface.gids)
        if (gid.type == kernel::GidType::roce_v2 && !gid.address.is_link_local() &&
            (!best || (gid.address.is_v4() && !best->address.is_v4())))
            best = gid;
    return best ? std::optional(best->index) : std::nullopt;
}

/// A job often sets one NCCL_IB_GID_INDEX for all its pods. The default of NCCL's two variables, RoCE v2 and IPv4, is
/// right for a pod with an IPv4 address.
void check_gid_index(const Context& context, Findings& found) {
    for_each_interface(context, [&](const Interface& interface, const std::string& subject) {
        const auto own = gid_index_of(interface);
        if (!own || interface.network.empty() || found.has_failed(subject)) return;
        std::set<unsigned> others;
        for (const Interface& each : context.inventory.interfaces)
            if (each.network == interface.network && each.net.place != interface.net.place)
                if (const auto index = gid_index_of(each); index && *index != *own) others.insert(*index);
        if (others.empty()) return;
        found.info(subject,
                   fmt::format("its GID index is {}, and other pods of network \"{}\" here have others: {}", *own,
                               interface.network, list_of(others)),
                   "do not set one NCCL_IB_GID_INDEX for all pods of a job: NCCL 2.21 and later choose by themselves "
                   "(NCCL_IB_ROCE_VERSION_NUM=2, and NCCL_IB_ADDR_FAMILY=AF_INET6 for IPv6)");
    });
}

bool is_own(const Context& context, const IpAddress& address) {
    bool own = false;
    for_each_interface(context, [&](const Interface& interface, const std::string& /*subject*/) {
        own = own ||
              std::ranges::any_of(interface.addresses, [&](const IpPrefix& each) { return each.address() == address; });
    });
    return own;
}

/// An address of the subnet that the pod does not have. nullopt if the subnet has no such host.
std::optional<IpAddress> find_peer(const Context& context, const IpPrefix& prefix) {
    for (IpAddress address(prefix.family(), prefix.network().value() + 1); address < prefix.last();
         address = IpAddress(address.family(), address.value() + 1))
        if (!is_own(context, address)) return address;
    return std::nullopt;
}

std::string name_of(kernel::Socket& socket, unsigned ifindex) {
    const auto link = kernel::find_link(socket, ifindex);
    return link ? link->name : fmt::format("interface number {}", ifindex);
}

/// Asked with the address as the packets' source, because routing by source is one of the fixes.
void check_routes(const Context& context, Findings& found) {
    std::optional<kernel::Socket> socket;
    for_each_interface(context, [&](const Interface& interface, const std::string& subject) {
        if (found.has_failed(subject)) return;
        for (const IpPrefix& prefix : interface.addresses) {
            const auto peer = prefix.address().is_link_local() ? std::nullopt : find_peer(context, prefix);
            if (!peer) continue;
            if (!socket) socket.emplace(open_in_pod(context));
            const auto route = kernel::find_route_to(*socket, *peer, prefix.address());
            if (!route || route->ifindex == interface.net.ifindex) continue;
            found.warning(subject,
                          fmt::format("packets from {} to its subnet {}/{} leave the pod through {}", prefix.address(),
                                      prefix.network(), prefix.length(), name_of(*socket, route->ifindex)),
                          "give the pod's networks ranges of different subnets, or route by source: plugin \"sbr\" "
                          "behind rdmanet in the network's list");
        }
    });
}

constexpr Check kPodNetworkChecks[] = {
    {{"pod-gid-index", Layer::pod, "GID indexes of the pods of one network"}, check_gid_index},
    {{"pod-route", Layer::pod, "routes to the subnets of its addresses"}, check_routes},
};

} // namespace

std::span<const Check> pod_network_checks() {
    return kPodNetworkChecks;
}

} // namespace rdmanet::doctor
