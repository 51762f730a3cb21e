#include "addressing.hpp"

#include "findings.hpp"

#include "lookup/adopted.hpp"
#include "lookup/duplicates.hpp"
#include "lookup/shared_rdma.hpp"

#include <rdmanet/base/text.hpp>
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
#include <thread>
#include <utility>
#include <variant>

namespace rdmanet::attach {
namespace {

using base::concat;
using base::quoted;
using kernel::Link;

std::vector<base::IpPrefix> prefixes_of(const std::vector<cni::IpConfig>& ips, base::Family family) {
    std::vector<base::IpPrefix> prefixes;
    for (const cni::IpConfig& ip : ips)
        if (ip.address.family() == family) prefixes.push_back(ip.address);
    return prefixes;
}

/// How long a predecessor may take to disappear: cleanup_net() destroys many namespaces in one go.
constexpr std::chrono::seconds kPredecessorTimeout{5};

/// A child keeps its MAC and its addresses until its namespace is destroyed, which the kernel does some time after
/// the last user has gone: a pod that comes back at once with the same ones meets itself. Until then macvlan_open()
/// and ipvlan's address validators answer EADDRINUSE. `taken` names what is in use.
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
                                    concat(taken(),
                                           " belongs to the parent or to another of its children: request another one, "
                                           "or delete its owner (kernel: ",
                                           error.what(), ')'));
        }
        std::this_thread::sleep_for(std::chrono::milliseconds{10});
    }
}

void add_addresses(PodSide& pod, const kernel::Link& link, const std::vector<base::IpPrefix>& prefixes, kernel::Dad dad,
                   const base::Deadline& deadline) {
    for (const base::IpPrefix& prefix : prefixes)
        after_predecessor(
            deadline, [&] { kernel::add_address(pod.route, link.ifindex, prefix, dad); },
            [&] { return concat("address ", prefix); });
}

std::optional<base::IpAddress> first_gateway(const std::vector<cni::IpConfig>& ips, base::Family family) {
    for (const cni::IpConfig& ip : ips)
        if (ip.gateway && ip.gateway->family() == family) return ip.gateway;
    return std::nullopt;
}

/// IPv6 default routes of router advertisements have metric 1024, and so have routes without one (IP6_RT_PRIO_USER,
/// rt6_add_dflt_router()). A route that only fills a gap stays behind them also when they come later; one that shall
/// win is ahead. For IPv4 the metric is 0, and the last added wins.
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

/// With a line in the log: a warning where it follows from what the pod has, and not from the network's own wish.
bool is_left_out(const cni::Route& route, const kernel::Link& link, PodSide& pod, config::DefaultRoute policy,
                 const base::Logger& log) {
    if (!route.destination.is_default_route() || policy == config::DefaultRoute::always) return false;
    if (route.table.value_or(kernel::kMainTable) != kernel::kMainTable) return false;
    if (policy == config::DefaultRoute::never) {
        log.info(concat("route ", route.destination, " of interface ", base::quoted(link.name),
                        " is not added: \"defaultRoute\" is \"never\""));
        return true;
    }
    if (!kernel::find_default_route(pod.route, route.destination.family())) return false;
    log.warn(concat("route ", route.destination, " of interface ", base::quoted(link.name),
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
template <class Act>
void as_far_as_possible(const base::Logger& log, const Act& act) {
    try {
        act();
    } catch (const base::SystemError& error) {
        log.warn(error.what());
    }
}

/// As the kernel can. The link is down, so that its link-local address has the same.
kernel::Dad choose_dad(PodSide& pod, const kernel::Link& link, const base::InterfaceName& name,
                       const base::Logger& log) {
    if (!has_neighbours(link)) return kernel::Dad::none;
    std::string why = "this kernel has no such setting";
    try {
        if (kernel::enable_optimistic_detection(pod.netns, name) == kernel::Written::yes)
            return kernel::Dad::optimistic;
    } catch (const base::SystemError& error) {
        why = error.what();
    }
    log.warn(concat("IPv6 addresses of interface ", base::quoted(link.name),
                    " are usable 1 to 2 seconds after ADD, when duplicate address detection has passed: it can't be "
                    "optimistic (",
                    why, "); set \"duplicateAddressDetection\": \"probe\" to have it done before"));
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

/// The kernel announces the IPv4 addresses that the link has when it comes up. IPv6 addresses are announced by
/// nobody: until detection has passed, that would take them from who has them (RFC 4429, section 3.3).
void bring_up_at_once(PodSide& pod, const kernel::Link& link, const base::InterfaceName& name, const Wanted& wanted,
                      const base::Deadline& deadline, const base::Logger& log) {
    const kernel::Dad dad = wanted.v6.empty() ? kernel::Dad::none : choose_dad(pod, link, name, log);
    add_addresses(pod, link, wanted.v4, kernel::Dad::none, deadline);
    set_up(pod, link, deadline);
    add_addresses(pod, link, wanted.v6, dad, deadline);
}

/// Where neighbours are asked for the addresses of an interface. Answers to an ipvlan child's ARP probe don't reach
/// it, as the address that they go to, 0.0.0.0, is none of its own (ipvlan_addr_lookup()): its parent asks, whose MAC
/// it has.
struct AskingSide {
    const kernel::Netns* netns = nullptr; // without one the host's
    unsigned ifindex = 0;
};

kernel::AddressProber make_prober(const AskingSide& asking, const base::MacAddress& mac) {
    if (asking.netns != nullptr) return {*asking.netns, asking.ifindex, mac};
    return {kernel::Netns::current(), asking.ifindex, mac};
}

/// Without a carrier nobody can be asked. Then it is as without a probe, but for the announcement of IPv4 addresses,
/// which nobody would hear.
void bring_up_after_probe(PodSide& pod, const kernel::Link& link, const base::InterfaceName& name, const Wanted& wanted,
                          const AskingSide& asking, const base::Deadline& deadline, const base::Logger& log) {
    const std::vector<base::IpAddress> addresses = wanted.all();
    set_up(pod, link, deadline);
    if (!wait_for_carrier(pod.route, link.ifindex, deadline)) {
        log.warn(concat("interface ", base::quoted(link.name),
                        " has no carrier, so no other host was asked whether it has the same addresses"));
        return bring_up_at_once(pod, link, name, wanted, deadline, log);
    }
    const kernel::AddressProber prober = make_prober(asking, link.mac().value());
    refuse_taken_addresses(prober, addresses, link.name, deadline);
    add_addresses(pod, link, wanted.v4, kernel::Dad::none, deadline);
    add_addresses(pod, link, wanted.v6, kernel::Dad::none, deadline);
    as_far_as_possible(log, [&] { prober.announce(addresses); });
}

/// The link, which is down, gets no IPv6 link-local address when it comes up.
void suppress_link_local(PodSide& pod, const kernel::Link& link) {
    if (link.ipv6_address_mode) // else there is no IPv6
        kernel::change_link(pod.route, link.ifindex, {.ipv6_address_mode = IN6_ADDR_GEN_MODE_NONE});
}

/// Gives the link its addresses and sets it up. IPv6 is switched on for the interface where a default has it off.
/// Waits a few seconds for another child of the parent that has the same MAC or address to go. Throws CniError if it
/// stays, and with DuplicateDetection::probe if another host has one of the addresses.
void bring_up(PodSide& pod, const kernel::Link& link, const base::InterfaceName& name,
              const std::vector<cni::IpConfig>& ips, config::DuplicateDetection detection, const AskingSide& asking,
              const base::Deadline& deadline, const base::Logger& log) {
    const Wanted wanted{.v4 = prefixes_of(ips, base::Family::v4), .v6 = prefixes_of(ips, base::Family::v6)};
    if (!wanted.v6.empty()) kernel::enable_ipv6(pod.netns, name);
    if (!wanted.v4.empty()) as_far_as_possible(log, [&] { kernel::announce_ipv4_when_up(pod.netns, name); });
    if (!wanted.v6.empty()) as_far_as_possible(log, [&] { kernel::announce_ipv6_changes(pod.netns, name); });
    const bool asks =
        detection == config::DuplicateDetection::probe && has_neighbours(link) && link.mac() && !ips.empty();
    if (asks)
        bring_up_after_probe(pod, link, name, wanted, asking, deadline, log);
    else
        bring_up_at_once(pod, link, name, wanted, deadline, log);
}

/// Adds the routes; the first gateway of the family stands in for a missing one. Returns those that were added, with
/// the gateways that they got: a default route is left out as the policy says, with a line in the log.
std::vector<cni::Route> add_routes(PodSide& pod, const kernel::Link& link, const cni::Result& wanted,
                                   config::DefaultRoute policy, const base::Logger& log) {
    std::vector<cni::Route> added;
    for (const cni::Route& route : wanted.routes) {
        if (is_left_out(route, link, pod, policy, log)) continue;
        added.push_back(route);
        cni::Route& complete = added.back();
        if (!complete.gateway) complete.gateway = first_gateway(wanted.ips, route.destination.family());
        kernel::add_route(pod.route, to_kernel(complete, link, policy));
    }
    return added;
}

std::string adopted_text(const AddContext& context) {
    std::string text;
    for (const cni::IpConfig& ip : adopt_addresses(context.request, context.config).ips)
        text += concat(text.empty() ? "set it up with the addresses of prevResult: " : ", ", ip.address);
    return text.empty() ? "set it up, without addresses" : text;
}

class Addressing final : public Step {
public:
    explicit Addressing(const Findings& found) : parent_ifindex_(found.parent ? found.parent->parent.ifindex : 0) {}

    void describe(const AddContext& context, Description& description) const override {
        const config::Config& config = context.config;
        std::string routes;
        if (const auto* own = std::get_if<ipam::Config>(&config.ipam))
            for (const ipam::Route& route : own->routes)
                routes += concat(routes.empty() ? " and routes to " : ", ", route.destination);
        const bool none = std::holds_alternative<config::NoIpam>(config.ipam);
        const char* probe = config.duplicate_detection == config::DuplicateDetection::probe
                                ? ", if no other host answers a probe for them"
                                : "";
        description.add.push_back(none ? adopted_text(context) : concat("set it up with its addresses", routes, probe));
    }

    void apply(const AddContext& context, Progress& progress) override {
        const config::Config& config = context.config;
        const Link& link = *progress.link;
        if (const auto& port = progress.shared_port) // whose GID table other pods need, too
            require_gid_share(config.rdma, *port, progress.own.ips.size());
        base::in_context(concat("interface ", base::quoted(link.name)), [&] {
            if (!config.rdma.link_local_gids) suppress_link_local(context.pod, link);
            bring_up(context.pod, link, context.request.ifname(), progress.own.ips, config.duplicate_detection,
                     asking_side(context, link), context.deadline, context.log());
            progress.own.routes = add_routes(context.pod, link, progress.own, config.default_route, context.log());
        });
    }

private:
    [[nodiscard]] AskingSide asking_side(const AddContext& context, const Link& link) const {
        if (!std::holds_alternative<config::Ipvlan>(context.config.attach)) return {&context.pod.netns, link.ifindex};
        return {context.config.link_in_container ? &context.pod.netns : nullptr, parent_ifindex_};
    }

    unsigned parent_ifindex_; // of a child
};

bool gives_ipv6(const ipam::Config& config) {
    const auto is_v6 = [](base::Family family) { return family == base::Family::v6; };
    return std::any_of(config.ranges.begin(), config.ranges.end(),
                       [&](const ipam::ConfiguredRange& range) { return is_v6(range.range.family()); }) ||
           std::any_of(config.addresses.begin(), config.addresses.end(),
                       [&](const ipam::StaticAddress& address) { return is_v6(address.address.family()); });
}

/// The kernel switches IPv6 off on an interface with less than IPV6_MIN_MTU, and then refuses its addresses.
void require_mtu_of_ipv6(const config::Config& config, unsigned default_mtu) {
    constexpr unsigned kLeast = 1280;
    const unsigned mtu = config.mtu.value_or(default_mtu);
    const auto* own = std::get_if<ipam::Config>(&config.ipam);
    if (mtu >= kLeast || own == nullptr || !gives_ipv6(*own)) return;
    throw cni::CniError(cni::ErrorCode::invalid_network_config,
                        concat("mtu: ", mtu, " is too small for IPv6 addresses, which need ", kLeast,
                               ": raise it, or configure no IPv6 range"));
}

void require_keys_of_infiniband(const config::Config& config, const base::BusAddress& address) {
    if (!config.rdma.link_local_gids)
        throw cni::CniError(cni::ErrorCode::unsupported_field,
                            concat("rdma.linkLocalGids: can't be set, device ", address,
                                   " is InfiniBand, whose GIDs come from no addresses: remove it"));
    if (config.duplicate_detection == config::DuplicateDetection::probe)
        throw cni::CniError(cni::ErrorCode::unsupported_field,
                            concat("duplicateAddressDetection: can't be \"probe\", device ", address,
                                   " is InfiniBand, and only Ethernet is asked: remove it"));
}

/// Without a configured MTU: the parent's, or the device's own.
unsigned default_mtu_of(const Findings& found) {
    if (found.parent) return found.parent->parent.mtu;
    if (found.interface) return found.interface->link.mtu;
    return found.device->link ? found.device->link->mtu : std::numeric_limits<unsigned>::max();
}

void check_link(const Link& link, const Expected& expected) {
    const std::string name = quoted(link.name);
    if (!link.is_up()) differs(concat("interface ", name, " is down"));
    const std::string& mac = expected.interface.mac;
    if (!mac.empty() && link.hardware_address_text() != base::to_lower(mac))
        differs(concat("interface ", name, " has MAC ", link.hardware_address_text(), ", expected ", quoted(mac)));
}

void check_addresses(const std::vector<kernel::Address>& present, const Link& link, const Expected& expected) {
    for (const base::IpPrefix& ip : expected.ips) {
        const auto found = std::find_if(present.begin(), present.end(),
                                        [&](const kernel::Address& address) { return address.prefix == ip; });
        if (found == present.end()) differs(concat("interface ", quoted(link.name), " lacks address ", ip));
        if (found->is_duplicate)
            differs(concat("address ", ip, " of interface ", quoted(link.name),
                           " is a duplicate, another host in the network has it, too: delete the pod, and exclude the ",
                           "address from the range"));
    }
}

/// Those that ADD made and that the runtime still counts on: Multus takes default routes out of both.
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
            differs(concat("route ", route.destination, " by interface ", quoted(link.name), " is gone"));
    }
}

} // namespace

void find_addressing(const PlanContext& context, Findings& found) {
    if (context.add == nullptr) return;
    if (found.device && found.device->is_infiniband())
        require_keys_of_infiniband(context.config, found.device->address);
    require_mtu_of_ipv6(context.config, default_mtu_of(found));
}

std::unique_ptr<Step> make_addressing(const AddContext& /*context*/, const Findings& found) {
    return found.has_interface() ? std::make_unique<Addressing>(found) : nullptr;
}

void check_addressing(const CheckContext& context) {
    if (!has_netdev(context.record)) return;
    const Link& link = require_link(context);
    check_link(link, context.expected);
    check_addresses(context.addresses, link, context.expected);
    check_routes(context.inside, link, context.wanted.result, context.record);
}

} // namespace rdmanet::attach
