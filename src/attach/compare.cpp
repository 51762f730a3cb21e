// What the kernel shows of an attachment against what ADD made. What later plugins of the chain, Multus or the pod may
// change is left to them: the MTU, promiscuous mode and sysctls, of which prevResult says nothing; routes moved to
// another table, addresses added, a default route taken away.
#include "compare.hpp"

#include "leases.hpp"

#include "lookup/request.hpp"
#include "lookup/shared_rdma.hpp"
#include "owners/liveness.hpp"
#include "steps/device_check.hpp"
#include "steps/vf_settings.hpp"

#include <rdmanet/base/text.hpp>
#include <rdmanet/cni/error.hpp>
#include <rdmanet/ipam/allocator.hpp>
#include <rdmanet/kernel/address.hpp>
#include <rdmanet/kernel/device.hpp>
#include <rdmanet/kernel/route.hpp>

#include <algorithm>
#include <utility>

namespace rdmanet::attach {
namespace {

using base::concat;
using base::quoted;
using kernel::Link;

struct Expected {
    cni::Interface interface;
    std::vector<base::IpPrefix> ips;
};

/// Our part of prevResult: the interface of our name inside the pod, and those addresses of it that ADD made. A later
/// plugin may have added others, and taken some away.
Expected expected_from(const cni::Result& result, const state::AttachmentRecord& record) {
    const auto is_ours = [&](const cni::IpConfig& ip) {
        return std::find(record.ips.begin(), record.ips.end(), ip.address.to_string()) != record.ips.end();
    };
    for (std::size_t at = 0; at < result.interfaces.size(); ++at) {
        const cni::Interface& interface = result.interfaces[at];
        if (interface.name != record.key.ifname || interface.sandbox.empty()) continue;
        Expected expected{.interface = interface, .ips = {}};
        for (const cni::IpConfig& ip : result.ips)
            if (ip.interface == at && is_ours(ip)) expected.ips.push_back(ip.address);
        return expected;
    }
    differs(concat("prevResult has no interface ", quoted(record.key.ifname), " in the pod"));
}

void check_mode_by_configuration(const Link& link, const config::Config& config) {
    const std::string name = quoted(link.name);
    if (const auto* wanted = std::get_if<config::Macvlan>(&config.attach)) {
        if (!link.macvlan || link.macvlan->mode != wanted->mode)
            differs(concat("interface ", name, " is ", link.macvlan ? kernel::to_string(*link.macvlan) : "no macvlan",
                           ", expected ", kernel::to_string(*wanted)));
    } else if (const auto* ipoib = std::get_if<config::Ipoib>(&config.attach)) {
        const config::Ipoib present = link.ipoib.value_or(config::Ipoib{});
        const bool other_pkey = ipoib->pkey && (present.pkey.value_or(0) | 0x8000U) != (*ipoib->pkey | 0x8000U);
        if (other_pkey || (ipoib->mode && present.mode != ipoib->mode))
            differs(concat("interface ", name, " is ", kernel::to_string(present), ", expected ",
                           kernel::to_string(*ipoib)));
    } else if (const auto* ipvlan = std::get_if<config::Ipvlan>(&config.attach);
               ipvlan != nullptr && link.ipvlan != *ipvlan) {
        differs(concat("interface ", name, " is ", link.ipvlan ? kernel::to_string(*link.ipvlan) : "no ipvlan",
                       ", expected ", kernel::to_string(*ipvlan)));
    }
}

/// As the record says it.
std::string mode_text(const Link& link) {
    if (link.macvlan) return kernel::to_string(*link.macvlan);
    if (link.ipvlan) return kernel::to_string(*link.ipvlan);
    if (link.ipoib) return kernel::to_string(*link.ipoib);
    return concat("of kind ", quoted(link.kind));
}

void check_mode(const Link& link, const Intended& wanted, const state::CreateLink& made) {
    if (wanted.config != nullptr) return check_mode_by_configuration(link, *wanted.config);
    const std::string present = mode_text(link);
    if (present != made.mode)
        differs(concat("interface ", quoted(link.name), " is ", present, ", expected ", made.mode));
}

/// A child is told by its kind and parent, a device by where it is in the machine.
void check_origin(const Link& link, const Intended& wanted, const state::AttachmentRecord& record) {
    const std::string name = quoted(link.name);
    if (wanted.is_device()) {
        if (wanted.device && kernel::bus_address_of(link.parent_device) != wanted.device)
            differs(concat("interface ", name, " is of device ", quoted(link.parent_device), ", expected ",
                           *wanted.device));
        if (const auto* moved = record.find_step<state::MoveInterface>(); moved != nullptr && link.kind != moved->kind)
            differs(concat("interface ", name, " is of kind ", quoted(link.kind), ", expected ", quoted(moved->kind)));
        return;
    }
    if (link.kind != wanted.kind)
        differs(concat("interface ", name, " is of kind ", quoted(link.kind), ", expected ", wanted.kind));
    const state::CreateLink* made = record.created_link();
    if (made == nullptr) return;
    if (!link.is_child_of(made->parent_ifindex))
        differs(concat("interface ", name, " has parent index ", link.parent_ifindex.value_or(0), ", expected ",
                       made->parent_ifindex, " (", made->parent, ')'));
    check_mode(link, wanted, *made);
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
        if (std::find(record.routes.begin(), record.routes.end(), route.dst.to_string()) == record.routes.end())
            continue;
        const auto matches = [&](const kernel::Route& candidate) {
            return candidate.destination.network() == route.dst.network() &&
                   candidate.destination.length() == route.dst.length() && (!route.gw || candidate.gateway == route.gw);
        };
        if (std::none_of(present.begin(), present.end(), matches))
            differs(concat("route ", route.dst, " by interface ", quoted(link.name), " is gone"));
    }
}

std::vector<base::IpAddress> addresses_of(const Expected& expected) {
    std::vector<base::IpAddress> addresses;
    for (const base::IpPrefix& ip : expected.ips) addresses.push_back(ip.address());
    return addresses;
}

/// A pod may have given itself more addresses than ADD did, in a table whose places other pods need.
void check_gid_share(const config::RdmaPolicy& policy, const kernel::RdmaPort& port, const Link& link,
                     const std::vector<kernel::Address>& present) {
    if (!policy.most_gids) return;
    std::vector<base::IpAddress> addresses;
    addresses.reserve(present.size());
    for (const kernel::Address& address : present) addresses.push_back(address.prefix.address());
    const std::size_t taken = kernel::find_gids(port, addresses, link.name).entries.size();
    if (taken > *policy.most_gids)
        differs(concat("interface ", quoted(link.name), " has ", taken, " entries of the GID table of ", port,
                       ", expected at most ", *policy.most_gids, " (\"rdma.maxGids\"): remove addresses from it"));
}

void check_rdma(const Intended& wanted, const state::AttachmentRecord& record, const Expected& expected,
                const Link& link, const std::vector<kernel::Address>& present, const base::Deadline& deadline) {
    if (record.rdma_device.empty() || record.created_link() == nullptr || record.created_link()->parent_in_pod) return;
    kernel::Socket outside = kernel::Socket::open(kernel::Protocol::route, deadline);
    const state::CreateLink& made = *record.created_link();
    const auto parent = kernel::find_link(outside, made.parent_ifindex);
    if (!parent) differs(concat("parent ", quoted(made.parent), " is gone"));
    auto rdma = kernel::Socket::find_rdma(deadline);
    const auto port = rdma ? kernel::find_rdma_port(*rdma, *parent) : std::nullopt;
    if (!port) differs(concat("RDMA device ", record.rdma_device, " of parent ", quoted(parent->name), " is gone"));
    check_port(wanted.rdma, *port, parent->name);
    check_gid_share(wanted.rdma, *port, link, present);
    // An ADD that doesn't wait for them may be followed by CHECK before the kernel has made them.
    if (wanted.rdma.on_missing_gid == config::OnMissingGid::warn || !wanted.rdma.wait_for_gids) return;
    const auto missing = missing_gids(*port, link.name, addresses_of(expected));
    if (!missing.empty()) differs(concat("RDMA device ", *port, " has no GID of ", missing.front()));
}

std::vector<base::IpPrefix> prefixes_of(const state::AttachmentRecord& record) {
    std::vector<base::IpPrefix> prefixes;
    for (const std::string& ip : record.ips)
        if (const auto prefix = base::IpPrefix::parse(ip)) prefixes.push_back(*prefix);
    return prefixes;
}

} // namespace

Intended wanted_by(const cni::Request& request, const config::Config& config) {
    Intended wanted{.config = &config,
                    .kind = std::string(config.kind()),
                    .device = config.device,
                    .mtu = config.mtu,
                    .rdma = config.rdma,
                    .result = request.conf.prev_result.value_or(cni::Result{})};
    if (std::holds_alternative<config::Sriov>(config.attach)) wanted.vf = wanted_settings(request, config);
    return wanted;
}

Intended wanted_by(const state::AttachmentRecord& record) {
    const state::Wanted written = record.wanted.value_or(state::Wanted{});
    Intended wanted{.kind = record.attach, .vf = to_settings(written.vf)};
    wanted.rdma.wait_for_gids = written.gids;
    wanted.rdma.on_missing_gid = written.gids ? config::OnMissingGid::refuse : config::OnMissingGid::warn;
    wanted.rdma.on_inactive_port = written.active_port ? config::OnInactivePort::refuse : config::OnInactivePort::warn;
    if (written.most_gids != 0) wanted.rdma.most_gids = written.most_gids;
    const state::CreateLink* made = record.created_link();
    wanted.result.interfaces.push_back({.name = record.key.ifname,
                                        .mac = made == nullptr || record.wanted ? written.mac : made->mac,
                                        .mtu = {},
                                        .sandbox = record.netns.path});
    for (const std::string& ip : record.ips)
        if (const auto prefix = base::IpPrefix::parse(ip))
            wanted.result.ips.push_back({.address = *prefix, .gateway = {}, .interface = 0});
    for (const std::string& route : record.routes)
        if (const auto prefix = base::IpPrefix::parse(route); prefix && !prefix->is_default_route())
            wanted.result.routes.push_back({.dst = *prefix});
    return wanted;
}

void compare_with_kernel(const Intended& wanted, const state::AttachmentRecord& record, const kernel::Netns& netns,
                         const std::string& netns_path, const base::Deadline& deadline) try {
    const bool is_rdma_only = wanted.kind == "rdma";
    const Expected expected = is_rdma_only ? Expected{} : expected_from(wanted.result, record);
    kernel::Socket inside = kernel::Socket::open_in(netns, kernel::Protocol::route, deadline);
    const auto name = base::InterfaceName::parse(record.key.ifname);
    const auto link = has_netdev(record) && name ? kernel::find_link(inside, *name) : std::nullopt;
    if (wanted.is_device()) check_device(wanted, record, netns, link ? &*link : nullptr, deadline);
    if (!has_netdev(record)) return;
    if (!link) differs(concat("interface ", quoted(record.key.ifname), " is gone from ", netns_path));
    check_origin(*link, wanted, record);
    check_link(*link, expected);
    const auto present = kernel::list_addresses(inside, link->ifindex);
    check_addresses(present, *link, expected);
    check_routes(inside, *link, wanted.result, record);
    check_rdma(wanted, record, expected, *link, present, deadline);
    if (wanted.is_device()) check_device_link(wanted, record, netns, *link, addresses_of(expected), deadline);
} catch (const cni::CniError& error) { // with a code of ADD's, where a look at the node fails: a PF that went away, say
    differs(error.what());
}

void compare_leases(const state::AttachmentRecord& record, const Node& node, ipam::Store& leases,
                    const base::Deadline& deadline) {
    PodProbe pods(node);
    ipam::Allocator allocator(leases, pods);
    const auto faults = allocator.check(owner_key(record.key), prefixes_of(record), deadline);
    if (!faults.empty()) differs(faults.front());
}

} // namespace rdmanet::attach
