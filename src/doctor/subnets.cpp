// Subnets of pods that are in one network.
#include "checks.hpp"

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/kernel/netns.hpp>
#include <rdmanet/kernel/route.hpp>

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

namespace rdmanet::doctor {
namespace {

/// A pod's interface, and one of its addresses.
struct Member {
    const inventory::Interface* interface = nullptr;
    base::IpPrefix address;

    [[nodiscard]] std::string subnet() const { return fmt::format("{}/{}", address.network(), address.length()); }
};

/// One member of each subnet, by network and family.
using Networks = std::map<std::pair<std::string, base::Family>, std::vector<Member>>;

Networks list_networks(const Context& context) {
    Networks networks;
    for (const inventory::Interface& interface : context.inventory.interfaces) {
        if (interface.network.empty() || interface.net.place == 0) continue;
        for (const base::IpPrefix& address : interface.addresses) {
            const Member member{.interface = &interface, .address = address};
            auto& members = networks[{interface.network, address.family()}];
            if (!address.address().is_link_local() &&
                std::ranges::none_of(members, [&](const Member& each) { return each.subnet() == member.subnet(); }))
                members.push_back(member);
        }
    }
    for (auto& [network, members] : networks)
        std::ranges::sort(members, [](const Member& one, const Member& other) {
            return one.address.address() < other.address.address();
        });
    return networks;
}

/// The pod's default route mostly leads through its cluster interface, where the other pod is not.
bool has_route(const Context& context, const Member& from, const Member& to) {
    const auto pod = kernel::find_netns(context.inventory.namespaces[from.interface->net.place].path);
    if (!pod) return true; // it has ended
    auto socket = kernel::Socket::open_in(*pod, kernel::Protocol::route, base::Deadline::in(std::chrono::seconds(1)));
    const auto route = kernel::find_route_to(socket, to.address.address());
    return route && route->ifindex == from.interface->net.ifindex;
}

std::string pod_name(const Context& context, const Member& member) {
    return context.inventory.namespaces[member.interface->net.place].to_string();
}

void check_subnets(const Context& context, Findings& found) {
    for (const auto& [network, members] : list_networks(context))
        for (std::size_t at = 1; at < members.size(); ++at) {
            const Member& one = members.front();
            const Member& other = members[at];
            if (one.interface == other.interface || (has_route(context, one, other) && has_route(context, other, one)))
                continue;
            found.info(
                "",
                fmt::format("network {} has pods in {} ({}) and in {} ({}), without a route between them through "
                            "the network",
                            base::quoted(network.first), one.subnet(), pod_name(context, one), other.subnet(),
                            pod_name(context, other)),
                "give all pods of the network one range, or add the other subnet to \"routes\" of \"ipam\" with "
                "a \"gw\", then create the pods again");
            break;
        }
}

constexpr Check kSubnetChecks[] = {
    {{"subnets", Layer::runtime, "subnets of pods in one network"}, check_subnets},
};

} // namespace

std::span<const Check> subnet_checks() {
    return kSubnetChecks;
}

} // namespace rdmanet::doctor
