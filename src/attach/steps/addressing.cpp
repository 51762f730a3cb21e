// Addresses and routes on the pod's interface.
#include "kinds.hpp"
#include "step.hpp"

#include "lookup/chained_addresses.hpp"
#include "lookup/duplicates.hpp"
#include "lookup/shared_rdma.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/base/wait.hpp>
#include <rdmanet/cni/error.hpp>
#include <rdmanet/kernel/address.hpp>
#include <rdmanet/kernel/route.hpp>
#include <rdmanet/kernel/sysctl.hpp>

#include <linux/if_link.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <limits>
#include <optional>
#include <utility>
#include <variant>

namespace rdmanet::attach {
namespace {

using base::quoted;
using kernel::Link;

std::vector<base::IpPrefix> prefixes_of(const std::vector<cni::IpConfig>& ips, base::Family family) {
    std::vector<base::IpPrefix> prefixes;
    for (const cni::IpConfig& ip : ips)
        if (ip.address.family() == family) prefixes.push_back(ip.address);
    return prefixes;
}

/// How long the interface of an earlier pod may take to disappear: cleanup_net() destroys many namespaces in one go.
constexpr std::chrono::seconds kPredecessorTimeout{5};

/// Repeats `act` while an earlier pod's interface still has the same MAC or address. A child keeps them until its
/// namespace is destroyed, some time after the last user has gone. A pod that comes back at once would collide with
/// its own earlier interface: macvlan_open() and ipvlan's address validators answer EADDRINUSE. `taken` names what is
/// in use.
template <class Act, class Taken>
void after_predecessor(const base::Deadline& deadline, const Act& act, const Taken& taken) {
    std::string why;
    const auto try_to_act = [&] {
        try {
            act();
            return true;
        } catch (const kernel::NetlinkError& error) {
            if (error.errno_value() != EADDRINUSE) throw;
            why = error.what();
            return false;
        }
    };
    if (!base::wait_for(deadline.at_most(kPredecessorTimeout), try_to_act))
        throw cni::CniError(cni::ErrorCode::parent,
                            fmt::format("{} belongs to the parent or to another of its children: request another "
                                        "one, or delete its owner (kernel: {})",
                                        taken(), why));
}

void add_addresses(const Call& call, const Link& link, const std::vector<base::IpPrefix>& prefixes, kernel::Dad dad) {
    for (const base::IpPrefix& prefix : prefixes)
        after_predecessor(
            call.deadline, [&] { kernel::add_address(call.pod->route, link.ifindex, prefix, dad); },
            [&] { return fmt::format("address {}", prefix); });
}

std::optional<base::IpAddress> first_gateway(const std::vector<cni::IpConfig>& ips, base::Family family) {
    for (const cni::IpConfig& ip : ips)
        if (ip.gateway && ip.gateway->family() == family) return ip.gateway;
    return std::nullopt;
}

/// IPv6 default routes of router advertisements have metric 1024, and so have routes without a metric
/// (IP6_RT_PRIO_USER, rt6_add_dflt_router()). With `always`, ours gets a lower metric and wins. Otherwise it gets a
/// higher one, so that a router advertisement wins even if it comes later. For IPv4 the metric is 0, and the route
/// added last wins.
std::uint32_t metric_of(const cni::Route& route, config::DefaultRoute policy) {
    constexpr std::uint32_t kOfRouterAdvertisements = 1024;
    if (route.priority) return *route.priority;
    if (!route.destination.is_default_route() || route.destination.family() == base::Family::v4) return 0;
    return policy == config::DefaultRoute::always ? kOfRouterAdvertisements - 1 : kOfRouterAdvertisements + 1;
}

kernel::Route to_kernel(const cni::Route& route, const kernel::Link& link, config::DefaultRoute policy) {
    kernel::Route wanted{.destination = *base::IpPrefix::make(route.destination.network(), route.destination.length()),
                         .gateway = route.gateway};
    wanted.ifindex = link.ifindex;
    wanted.table = route.table.value_or(kernel::kMainTable);
    wanted.metric = metric_of(route, policy);
    wanted.scope = route.scope;
    wanted.mtu = route.mtu;
    wanted.advertised_mss = route.advmss;
    return wanted;
}

/// Whether a default route is not added, which is logged. It is a warning if the pod's routes are the reason, and not
/// the configuration.
bool is_left_out(const cni::Route& route, const Link& link, const Call& call) {
    const config::DefaultRoute policy = call.config->default_route;
    if (!route.destination.is_default_route() || policy == config::DefaultRoute::always) return false;
    if (route.table.value_or(kernel::kMainTable) != kernel::kMainTable) return false;
    if (policy == config::DefaultRoute::never) {
        call.log.info(fmt::format("route {} of interface {} is not added, because \"defaultRoute\" is \"never\"",
                                  route.destination, quoted(link.name)));
        return true;
    }
    if (!kernel::find_default_route(call.pod->route, route.destination.family())) return false;
    call.log.warn(
        fmt::format("route {} of interface {} is not added, because the pod already has a default route: set "
                    "\"defaultRoute\": \"always\" to use this network's route, or \"never\" to silence this warning",
                    route.destination, quoted(link.name)));
    return true;
}

void set_up(const Call& call, const Link& link) {
    after_predecessor(
        call.deadline, [&] { kernel::change_link(call.pod->route, link.ifindex, {.state = kernel::AdminState::up}); },
        [&] { return fmt::format("MAC address {}", link.mac() ? link.mac()->to_string() : std::string("?")); });
}

/// Only warns if the kernel refuses: neighbours learn the addresses a little later without it.
template <class Act>
void as_far_as_possible(const base::Logger& log, const Act& act) {
    try {
        act();
    } catch (const base::SystemError& error) {
        log.warn(error.what());
    }
}

/// Optimistic detection if the kernel has it. The link must be down, so that its link-local address gets it, too.
kernel::Dad choose_dad(const Call& call, const Link& link) {
    if (!has_neighbours(link)) return kernel::Dad::none;
    std::string why = "this kernel has no such setting";
    try {
        if (kernel::enable_optimistic_detection(call.pod->netns, call.request->ifname()) == kernel::Written::yes)
            return kernel::Dad::optimistic;
    } catch (const base::SystemError& error) {
        why = error.what();
    }
    call.log.warn(
        fmt::format("IPv6 addresses of interface {} become usable 1 to 2 seconds after ADD, because duplicate address "
                    "detection cannot be optimistic ({}): set \"duplicateAddressDetection\": \"probe\" to detect "
                    "duplicates before ADD ends",
                    quoted(link.name), why));
    return kernel::Dad::full;
}

struct Wanted {
    std::vector<base::IpPrefix> v4;
    std::vector<base::IpPrefix> v6;

    [[nodiscard]] std::vector<base::IpAddress> all() const {
        std::vector<base::IpAddress> addresses;
        for (const auto* family : {&v4, &v6})
            for (const base::IpPrefix& prefix : *family) addresses.push_back(prefix.address());
        return addresses;
    }
};

/// The kernel announces the IPv4 addresses that the link has when it comes up. IPv6 addresses are not announced before
/// duplicate detection has passed, because that would take them from another host (RFC 4429, section 3.3).
void bring_up_at_once(const Call& call, const Link& link, const Wanted& wanted) {
    const kernel::Dad dad = wanted.v6.empty() ? kernel::Dad::none : choose_dad(call, link);
    add_addresses(call, link, wanted.v4, kernel::Dad::none);
    set_up(call, link);
    add_addresses(call, link, wanted.v6, dad);
}

/// The interface that probes neighbours for addresses. An ipvlan child cannot probe itself: answers to its ARP probe
/// go to 0.0.0.0, which is not an address of the child (ipvlan_addr_lookup()). Its parent has the same MAC and probes
/// for it.
struct AskingSide {
    const kernel::Netns* netns = nullptr; // null: the host's
    unsigned ifindex = 0;
};

kernel::AddressProber make_prober(const AskingSide& asking, const base::MacAddress& mac) {
    if (asking.netns != nullptr) return {*asking.netns, asking.ifindex, mac};
    return {kernel::Netns::current(), asking.ifindex, mac};
}

/// Probes for the addresses before it adds them. Without a carrier it adds them at once, because nobody would answer.
void bring_up_after_probe(const Call& call, const Link& link, const Wanted& wanted, const AskingSide& asking) {
    const std::vector<base::IpAddress> addresses = wanted.all();
    set_up(call, link);
    if (!wait_for_carrier(call.pod->route, link.ifindex, call.deadline)) {
        call.log.warn(
            fmt::format("interface {} has no carrier, so no other host was asked whether it has the same addresses",
                        quoted(link.name)));
        return bring_up_at_once(call, link, wanted);
    }
    const kernel::AddressProber prober = make_prober(asking, link.mac().value());
    refuse_taken_addresses(prober, addresses, link.name, call.deadline);
    add_addresses(call, link, wanted.v4, kernel::Dad::none);
    add_addresses(call, link, wanted.v6, kernel::Dad::none);
    as_far_as_possible(call.log, [&] { prober.announce(addresses); });
}

/// Keeps the link, which is down, from getting an IPv6 link-local address when it comes up.
void suppress_link_local(PodSide& pod, const kernel::Link& link) {
    if (link.ipv6_address_mode) // absent: the kernel has no IPv6
        kernel::change_link(pod.route, link.ifindex, {.ipv6_address_mode = IN6_ADDR_GEN_MODE_NONE});
}

/// Gives the link its addresses and brings it up. Enables IPv6 on the interface if it is disabled by default. Waits a
/// few seconds for another child of the parent with the same MAC or address to disappear. Throws CniError if it stays,
/// or (with DuplicateDetection::probe) if another host has one of the addresses.
void bring_up(const Call& call, const Link& link, const std::vector<cni::IpConfig>& ips, const AskingSide& asking) {
    const Wanted wanted{.v4 = prefixes_of(ips, base::Family::v4), .v6 = prefixes_of(ips, base::Family::v6)};
    const base::InterfaceName name = call.request->ifname();
    const kernel::Netns& pod = call.pod->netns;
    if (!wanted.v6.empty()) kernel::enable_ipv6(pod, name);
    if (!wanted.v4.empty())
        as_far_as_possible(call.log, [&] { kernel::announce_ipv4_when_up(call.pod->route, link.ifindex); });
    if (!wanted.v6.empty()) as_far_as_possible(call.log, [&] { kernel::announce_ipv6_changes(pod, name); });
    const bool asks = call.config->duplicate_detection == config::DuplicateDetection::probe && has_neighbours(link) &&
                      link.mac() && !ips.empty();
    if (asks)
        bring_up_after_probe(call, link, wanted, asking);
    else
        bring_up_at_once(call, link, wanted);
}

/// Adds the routes. A route without a gateway gets the first gateway of its family. Returns the added routes with
/// their gateways. A default route may be left out, as the policy says.
std::vector<cni::Route> add_routes(const Call& call, const Link& link, const cni::Result& wanted) {
    std::vector<cni::Route> added;
    for (const cni::Route& route : wanted.routes) {
        if (is_left_out(route, link, call)) continue;
        added.push_back(route);
        cni::Route& complete = added.back();
        if (!complete.gateway) complete.gateway = first_gateway(wanted.ips, route.destination.family());
        kernel::add_route(call.pod->route, to_kernel(complete, link, call.config->default_route));
    }
    return added;
}

std::string adopted_text(const Call& call) {
    std::string text;
    for (const cni::IpConfig& ip : chained_addresses(*call.request, *call.config).ips)
        text += fmt::format("{}{}", text.empty() ? "set it up with the addresses of prevResult: " : ", ", ip.address);
    return text.empty() ? "set it up, without addresses" : text;
}

class Addressing final : public Step {
public:
    explicit Addressing(const Findings& found)
        : parent_ifindex_(found.parent ? found.parent->parent.ifindex : 0), shared_port_(found.shared_port()) {}

    void describe(const Call& call, Description& description) const override {
        const config::Config& config = *call.config;
        std::string routes;
        if (const auto* own = std::get_if<ipam::Config>(&config.ipam))
            for (const ipam::Route& route : own->routes)
                routes += fmt::format("{}{}", routes.empty() ? " and routes to " : ", ", route.destination);
        const bool none = std::holds_alternative<config::NoIpam>(config.ipam);
        const char* probe = config.duplicate_detection == config::DuplicateDetection::probe
                                ? ", if no other host answers a probe for them"
                                : "";
        description.add.push_back(none ? adopted_text(call)
                                       : fmt::format("set it up with its addresses{}{}", routes, probe));
    }

    void apply(const Call& call, Progress& progress) override {
        const config::Config& config = *call.config;
        const Link& link = *progress.link;
        if (shared_port_) // whose GID table other pods need, too
            require_gid_share(config.rdma, *shared_port_, progress.own.ips.size());
        base::in_context(fmt::format("interface {}", quoted(link.name)), [&] {
            if (!config.rdma.link_local_gids) suppress_link_local(*call.pod, link);
            bring_up(call, link, progress.own.ips, asking_side(call, link));
            progress.own.routes = add_routes(call, link, progress.own);
        });
    }

private:
    [[nodiscard]] AskingSide asking_side(const Call& call, const Link& link) const {
        if (!std::holds_alternative<config::Ipvlan>(call.config->attach)) return {&call.pod->netns, link.ifindex};
        return {call.config->link_in_container ? &call.pod->netns : nullptr, parent_ifindex_};
    }

    unsigned parent_ifindex_; // 0 if the interface is not a child
    std::optional<kernel::RdmaPort> shared_port_;
};

bool gives_ipv6(const ipam::Config& config) {
    const auto is_v6 = [](base::Family family) { return family == base::Family::v6; };
    return std::any_of(config.ranges.begin(), config.ranges.end(),
                       [&](const ipam::ConfiguredRange& range) { return is_v6(range.range.family()); }) ||
           std::any_of(config.addresses.begin(), config.addresses.end(),
                       [&](const ipam::StaticAddress& address) { return is_v6(address.address.family()); });
}

/// The kernel disables IPv6 on an interface with an MTU below IPV6_MIN_MTU, and then refuses IPv6 addresses.
void require_mtu_of_ipv6(const config::Config& config, unsigned default_mtu) {
    constexpr unsigned kLeast = 1280;
    const unsigned mtu = config.mtu.value_or(default_mtu);
    const auto* own = std::get_if<ipam::Config>(&config.ipam);
    if (mtu >= kLeast || own == nullptr || !gives_ipv6(*own)) return;
    throw cni::CniError(cni::ErrorCode::invalid_network_config,
                        fmt::format("mtu: {} is too small for IPv6 addresses, which need {}: raise it, or configure no "
                                    "IPv6 range",
                                    mtu, kLeast));
}

void require_keys_of_infiniband(const config::Config& config, const base::BusAddress& address) {
    if (!config.rdma.link_local_gids)
        throw cni::CniError(
            cni::ErrorCode::unsupported_field,
            fmt::format("rdma.linkLocalGids: cannot be set, because device {} is InfiniBand, where GIDs do "
                        "not come from addresses: remove it",
                        address));
    if (config.duplicate_detection == config::DuplicateDetection::probe)
        throw cni::CniError(
            cni::ErrorCode::unsupported_field,
            fmt::format("duplicateAddressDetection: cannot be \"probe\", because device {} is InfiniBand and "
                        "only Ethernet neighbours can be probed: remove it",
                        address));
}

/// The MTU if none is configured: the parent's, or the device's own.
unsigned default_mtu_of(const Findings& found) {
    if (found.parent) return found.parent->parent.mtu;
    if (found.interface) return found.interface->link.mtu;
    return found.device->link ? found.device->link->mtu : std::numeric_limits<unsigned>::max();
}

void check_link(const Link& link, const Expected& expected) {
    const std::string name = quoted(link.name);
    if (!link.is_up()) differs(fmt::format("interface {} is down, expected up", name), kDeletePod);
    const std::string& mac = expected.interface.mac;
    if (!mac.empty() && link.hardware_address_text() != base::to_lower(mac))
        differs(fmt::format("interface {} has MAC {}, expected {}", name, link.hardware_address_text(), quoted(mac)),
                kDeletePod);
}

void check_addresses(const std::vector<kernel::Address>& present, const Link& link, const Expected& expected) {
    for (const base::IpPrefix& ip : expected.ips) {
        const auto found = std::find_if(present.begin(), present.end(),
                                        [&](const kernel::Address& address) { return address.prefix == ip; });
        if (found == present.end())
            differs(fmt::format("interface {} lacks address {}", quoted(link.name), ip), kDeletePod);
        if (found->is_duplicate)
            differs(fmt::format("address {} of interface {} is a duplicate, because another host in the network has it",
                                ip, quoted(link.name)),
                    "exclude the address from the range, then delete the pod");
    }
}

/// Compares the routes that ADD added and that are still in prevResult. Multus removes default routes from both.
void check_routes(kernel::Socket& inside, const Link& link, const cni::Result& result,
                  const state::AttachmentRecord& record) {
    const auto present = kernel::list_routes(inside, {.family = {}, .ifindex = link.ifindex, .table = {}});
    for (const cni::Route& route : result.routes) {
        if (std::find(record.routes.begin(), record.routes.end(), route.destination.to_string()) == record.routes.end())
            continue;
        const auto matches = [&](const kernel::Route& candidate) {
            return candidate.destination.network() == route.destination.network() &&
                   candidate.destination.length() == route.destination.length() &&
                   (!route.gateway || candidate.gateway == route.gateway);
        };
        if (std::none_of(present.begin(), present.end(), matches))
            differs(fmt::format("route {} through interface {} is gone", route.destination, quoted(link.name)),
                    kDeletePod);
    }
}

} // namespace

void AddressingKind::find(const Call& call, Findings& found) {
    if (call.pod == nullptr) return;
    if (found.device && found.device->is_infiniband()) require_keys_of_infiniband(*call.config, found.device->address);
    require_mtu_of_ipv6(*call.config, default_mtu_of(found));
}

std::unique_ptr<Step> AddressingKind::make(const Call& /*call*/, const Findings& found) {
    return found.has_interface() ? std::make_unique<Addressing>(found) : nullptr;
}

void AddressingKind::check(const Comparison& compared) {
    if (!has_netdev(compared.record)) return;
    const Link& link = require_link(compared);
    check_link(link, compared.expected);
    check_addresses(compared.addresses, link, compared.expected);
    check_routes(compared.inside, link, compared.wanted.result, compared.record);
}

} // namespace rdmanet::attach
