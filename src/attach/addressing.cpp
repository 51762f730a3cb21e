#include "addressing.hpp"

#include <rdmanet/base/text.hpp>
#include <rdmanet/cni/error.hpp>
#include <rdmanet/kernel/address.hpp>
#include <rdmanet/kernel/announce.hpp>
#include <rdmanet/kernel/route.hpp>
#include <rdmanet/kernel/sysctl.hpp>

#include <linux/if_link.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>

namespace rdmanet::attach {
namespace {

using base::concat;

std::vector<base::IpPrefix> prefixes_of(const std::vector<cni::IpConfig>& ips, base::Family family) {
    std::vector<base::IpPrefix> prefixes;
    for (const cni::IpConfig& ip : ips)
        if (ip.address.family() == family) prefixes.push_back(ip.address);
    return prefixes;
}

/// How long a predecessor may take to disappear: cleanup_net() destroys many namespaces in one go.
constexpr std::chrono::seconds kPredecessorTimeout{5};

/// A child keeps its MAC and its addresses until its namespace is destroyed, which the kernel does some time after the
/// last user has gone: a pod that comes back at once with the same ones meets itself. Until then macvlan_open() and
/// ipvlan's address validators answer EADDRINUSE. `taken` names what is in use.
template <class Act, class Taken>
void after_predecessor(const base::Deadline& deadline, const Act& act, const Taken& taken) {
    const auto until = deadline.at_most(kPredecessorTimeout);
    for (;;) {
        try {
            act();
            return;
        } catch (const kernel::NetlinkError& error) {
            if (error.errno_value() != EADDRINUSE) throw;
            if (until.passed())
                throw cni::CniError(cni::ErrorCode::parent,
                                    concat(taken(), " belongs to the parent or to another of its children: ask for ",
                                           "another one, or remove what has it (kernel: ", error.what(), ')'));
        }
        std::this_thread::sleep_for(std::chrono::milliseconds{10});
    }
}

void add_addresses(PodSide& pod, const kernel::Link& link, const std::vector<base::IpPrefix>& prefixes,
                   const base::Deadline& deadline) {
    for (const base::IpPrefix& prefix : prefixes)
        after_predecessor(
            deadline, [&] { kernel::add_address(pod.route, link.ifindex, prefix, {.skip_duplicate_detection = true}); },
            [&] { return concat("address ", prefix); });
}

/// Neighbours that aren't told find out by themselves, a little later.
void announce_v6(PodSide& pod, const kernel::Link& link, const std::vector<base::IpPrefix>& prefixes,
                 const base::Logger& log) {
    if (prefixes.empty() || !link.mac()) return;
    std::vector<base::IpAddress> addresses;
    addresses.reserve(prefixes.size());
    for (const base::IpPrefix& prefix : prefixes) addresses.push_back(prefix.address());
    try {
        kernel::announce_ipv6(pod.netns, link.ifindex, *link.mac(), addresses);
    } catch (const base::SystemError& error) {
        log.warn(error.what());
    }
}

std::optional<base::IpAddress> first_gateway(const std::vector<cni::IpConfig>& ips, base::Family family) {
    for (const cni::IpConfig& ip : ips)
        if (ip.gateway && ip.gateway->family() == family) return ip.gateway;
    return std::nullopt;
}

/// IPv6 default routes of router advertisements have metric 1024, and so have routes without one (IP6_RT_PRIO_USER,
/// rt6_add_dflt_router()). A route that only fills a gap stays behind them also when they come later; one that shall
/// win is ahead. For IPv4 the metric is 0, and the last added wins.
std::uint32_t metric_of(const cni::Route& route, DefaultRoute policy) {
    constexpr std::uint32_t kOfRouterAdvertisements = 1024;
    if (route.priority) return *route.priority;
    if (!route.dst.is_default_route() || route.dst.family() == base::Family::v4) return 0;
    return policy == DefaultRoute::always ? kOfRouterAdvertisements - 1 : kOfRouterAdvertisements + 1;
}

kernel::Route to_kernel(const cni::Route& route, const kernel::Link& link, DefaultRoute policy) {
    kernel::Route wanted{.destination = *base::IpPrefix::make(route.dst.network(), route.dst.length()),
                         .gateway = route.gw};
    wanted.ifindex = link.ifindex;
    wanted.table = route.table.value_or(kernel::kMainTable);
    wanted.metric = metric_of(route, policy);
    wanted.scope = route.scope;
    wanted.mtu = route.mtu;
    wanted.advertised_mss = route.advmss;
    return wanted;
}

/// With a line in the log: a warning where it follows from what the pod has, and not from the network's own wish.
bool is_left_out(const cni::Route& route, const kernel::Link& link, PodSide& pod, DefaultRoute policy,
                 const base::Logger& log) {
    if (!route.dst.is_default_route() || policy == DefaultRoute::always) return false;
    if (route.table.value_or(kernel::kMainTable) != kernel::kMainTable) return false;
    if (policy == DefaultRoute::never) {
        log.info(concat("route ", route.dst, " of interface ", base::quoted(link.name),
                        " is not added: \"defaultRoute\" is \"never\""));
        return true;
    }
    if (!kernel::find_default_route(pod.route, route.dst.family())) return false;
    log.warn(concat("route ", route.dst, " of interface ", base::quoted(link.name),
                    " is not added: the pod has a default route already; set \"defaultRoute\": \"always\" to use this "
                    "network's instead, or \"never\" to silence this warning"));
    return true;
}

void set_up(PodSide& pod, const kernel::Link& link, const base::Deadline& deadline) {
    after_predecessor(
        deadline, [&] { kernel::change_link(pod.route, link.ifindex, {.state = kernel::AdminState::up}); },
        [&] { return concat("MAC address ", link.mac() ? link.mac()->to_string() : std::string("?")); });
}

/// Where /proc/sys can't be written, neighbours find out by themselves, a little later.
void announce_v4(PodSide& pod, const base::InterfaceName& name, const base::Logger& log) {
    try {
        kernel::announce_ipv4_when_up(pod.netns, name);
    } catch (const base::SystemError& error) {
        log.warn(error.what());
    }
}

void announce_changes_of_v6(PodSide& pod, const base::InterfaceName& name, const base::Logger& log) {
    try {
        kernel::announce_ipv6_changes(pod.netns, name);
    } catch (const base::SystemError& error) {
        log.warn(error.what());
    }
}

} // namespace

void suppress_link_local(PodSide& pod, const kernel::Link& link) {
    if (link.ipv6_address_mode) // else there is no IPv6
        kernel::change_link(pod.route, link.ifindex, {.ipv6_address_mode = IN6_ADDR_GEN_MODE_NONE});
}

void bring_up(PodSide& pod, const kernel::Link& link, const base::InterfaceName& name,
              const std::vector<cni::IpConfig>& ips, const base::Deadline& deadline, const base::Logger& log) {
    const auto v4 = prefixes_of(ips, base::Family::v4);
    const auto v6 = prefixes_of(ips, base::Family::v6);
    if (!v6.empty()) kernel::enable_ipv6(pod.netns, name);
    if (!v4.empty()) announce_v4(pod, name, log);
    if (!v6.empty()) announce_changes_of_v6(pod, name, log);
    add_addresses(pod, link, v4, deadline);
    set_up(pod, link, deadline);
    add_addresses(pod, link, v6, deadline);
    announce_v6(pod, link, v6, log);
}

std::vector<cni::Route> add_routes(PodSide& pod, const kernel::Link& link, const cni::Result& wanted,
                                   DefaultRoute policy, const base::Logger& log) {
    std::vector<cni::Route> added;
    for (const cni::Route& route : wanted.routes) {
        if (is_left_out(route, link, pod, policy, log)) continue;
        added.push_back(route);
        cni::Route& complete = added.back();
        if (!complete.gw) complete.gw = first_gateway(wanted.ips, route.dst.family());
        (void)kernel::add_route(pod.route, to_kernel(complete, link, policy), kernel::RouteOrder::prepended);
    }
    return added;
}

} // namespace rdmanet::attach
