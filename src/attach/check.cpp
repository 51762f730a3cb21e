// CHECK: everything that ADD made is still there, and as it was made. What later plugins of the chain, Multus or the
// pod may change is left to them: the MTU, promiscuous mode and sysctls, of which prevResult says nothing; routes moved
// to another table, addresses added, a default route taken away.
#include "device_check.hpp"
#include "liveness.hpp"
#include "parent.hpp"
#include "rdma.hpp"
#include "session.hpp"

#include <rdmanet/attach/operations.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/cni/delegate.hpp>
#include <rdmanet/cni/error.hpp>
#include <rdmanet/ipam/allocator.hpp>
#include <rdmanet/kernel/address.hpp>
#include <rdmanet/kernel/route.hpp>

#include <algorithm>

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
Expected expected_from(const cni::Request& request, const state::AttachmentRecord& record) {
    const cni::Result& result = *request.conf.prev_result;
    const auto is_ours = [&](const cni::IpConfig& ip) {
        return std::find(record.ips.begin(), record.ips.end(), ip.address.to_string()) != record.ips.end();
    };
    for (std::size_t at = 0; at < result.interfaces.size(); ++at) {
        const cni::Interface& interface = result.interfaces[at];
        if (interface.name != request.ifname().to_string() || interface.sandbox.empty()) continue;
        Expected expected{.interface = interface, .ips = {}};
        for (const cni::IpConfig& ip : result.ips)
            if (ip.interface == at && is_ours(ip)) expected.ips.push_back(ip.address);
        return expected;
    }
    differs(concat("prevResult has no interface ", quoted(request.ifname().to_string()), " in the pod"));
}

void check_mode(const Link& link, const Config& config) {
    const std::string name = quoted(link.name);
    if (const auto* wanted = std::get_if<Macvlan>(&config.attach)) {
        if (!link.macvlan || link.macvlan->mode != wanted->mode)
            differs(concat("interface ", name, " is ", link.macvlan ? kernel::to_string(*link.macvlan) : "no macvlan",
                           ", expected ", kernel::to_string(*wanted)));
    } else if (const auto* ipoib = std::get_if<Ipoib>(&config.attach)) {
        const Ipoib present = link.ipoib.value_or(Ipoib{});
        const bool other_pkey = ipoib->pkey && (present.pkey.value_or(0) | 0x8000U) != (*ipoib->pkey | 0x8000U);
        if (other_pkey || (ipoib->mode && present.mode != ipoib->mode))
            differs(concat("interface ", name, " is ", kernel::to_string(present), ", expected ",
                           kernel::to_string(*ipoib)));
    } else if (const auto* ipvlan = std::get_if<Ipvlan>(&config.attach); ipvlan != nullptr && link.ipvlan != *ipvlan) {
        differs(concat("interface ", name, " is ", link.ipvlan ? kernel::to_string(*link.ipvlan) : "no ipvlan",
                       ", expected ", kernel::to_string(*ipvlan)));
    }
}

/// A child is told by its kind and parent, a device by where it is in the machine.
void check_origin(const Link& link, const Config& config, const state::AttachmentRecord& record) {
    const std::string name = quoted(link.name);
    if (config.is_device()) {
        if (config.device && link.parent_device != config.device->to_string())
            differs(concat("interface ", name, " is of device ", quoted(link.parent_device), ", expected ",
                           *config.device));
        return;
    }
    if (link.kind != config.kind())
        differs(concat("interface ", name, " is of kind ", quoted(link.kind), ", expected ", config.kind()));
    const state::CreateLink* made = record.created_link();
    if (made != nullptr && !link.is_child_of(made->parent_ifindex))
        differs(concat("interface ", name, " has parent index ", link.parent_ifindex.value_or(0), ", expected ",
                       made->parent_ifindex, " (", made->parent, ')'));
    check_mode(link, config);
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
void check_routes(kernel::Socket& inside, const Link& link, const cni::Request& request,
                  const state::AttachmentRecord& record) {
    const auto present = kernel::list_routes(inside, {.family = {}, .ifindex = link.ifindex, .table = {}});
    for (const cni::Route& route : request.conf.prev_result->routes) {
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
void check_gid_share(const Config& config, const kernel::RdmaPort& port, const Link& link,
                     const std::vector<kernel::Address>& present) {
    if (!config.rdma.most_gids) return;
    std::vector<base::IpAddress> addresses;
    for (const kernel::Address& address : present) addresses.push_back(address.prefix.address());
    const std::size_t taken = kernel::find_gids(port, addresses, link.name).entries.size();
    if (taken > *config.rdma.most_gids)
        differs(concat("interface ", quoted(link.name), " has ", taken, " entries of the GID table of ", port,
                       ", expected at most ", *config.rdma.most_gids, " (\"rdma.maxGids\"): remove addresses from it"));
}

void check_rdma(const Config& config, const state::AttachmentRecord& record, const Expected& expected, const Link& link,
                const std::vector<kernel::Address>& present, const base::Deadline& deadline) {
    if (record.rdma_device.empty() || config.link_in_container || record.created_link() == nullptr) return;
    kernel::Socket outside = kernel::Socket::open(kernel::Protocol::route, deadline);
    const state::CreateLink& made = *record.created_link();
    const auto parent = kernel::find_link(outside, made.parent_ifindex);
    if (!parent) differs(concat("parent ", quoted(made.parent), " is gone"));
    auto rdma = kernel::Socket::find_rdma(deadline);
    const auto port = rdma ? kernel::find_rdma_port(*rdma, *parent) : std::nullopt;
    if (!port) differs(concat("RDMA device ", record.rdma_device, " of parent ", quoted(parent->name), " is gone"));
    check_port(config.rdma, *port, parent->name);
    check_gid_share(config, *port, link, present);
    // An ADD that doesn't wait for them may be followed by CHECK before the kernel has made them.
    if (config.rdma.on_missing_gid == OnMissingGid::warn || !config.rdma.wait_for_gids) return;
    const auto missing = missing_gids(*port, link.name, addresses_of(expected));
    if (!missing.empty()) differs(concat("RDMA device ", *port, " has no GID of ", missing.front()));
}

std::vector<base::IpPrefix> prefixes_of(const state::AttachmentRecord& record) {
    std::vector<base::IpPrefix> prefixes;
    for (const std::string& ip : record.ips)
        if (const auto prefix = base::IpPrefix::parse(ip)) prefixes.push_back(*prefix);
    return prefixes;
}

/// The leases are the attachment's, also those of addresses that a later plugin has taken from the interface.
void check_ipam(const cni::Request& request, const Config& config, const state::AttachmentRecord& record,
                Session& session, const base::Deadline& deadline) {
    if (const auto* other = std::get_if<DelegatedIpam>(&config.ipam))
        cni::delegate_check(cni::delegate_call(request, other->plugin), deadline);
    if (!std::holds_alternative<ipam::Config>(config.ipam)) return;
    Undertaker undertaker(session.node);
    ipam::Allocator allocator(session.leases, undertaker);
    const auto faults = allocator.check(owner_key(session.key), prefixes_of(record), deadline);
    if (!faults.empty()) differs(faults.front());
}

/// What the kernel shows of the attachment, against the record, the configuration and prevResult.
void check_kernel(const cni::Request& request, const Config& config, const state::AttachmentRecord& record,
                  const kernel::Netns& netns, const base::Deadline& deadline) {
    const Expected expected = config.is_rdma_only() ? Expected{} : expected_from(request, record);
    kernel::Socket inside = kernel::Socket::open_in(netns, kernel::Protocol::route, deadline);
    const auto link = has_netdev(record) ? kernel::find_link(inside, request.ifname()) : std::nullopt;
    if (config.is_device()) check_device(request, config, record, netns, link ? &*link : nullptr, deadline);
    if (has_netdev(record)) {
        if (!link)
            differs(concat("interface ", quoted(request.ifname().to_string()), " is gone from ", request.netns_path));
        check_origin(*link, config, record);
        check_link(*link, expected);
        const auto present = kernel::list_addresses(inside, link->ifindex);
        check_addresses(present, *link, expected);
        check_routes(inside, *link, request, record);
        check_rdma(config, record, expected, *link, present, deadline);
        if (config.is_device())
            check_device_link(request, config, record, netns, *link, addresses_of(expected), deadline);
    }
}

/// Where a look at the node fails with a reason of ADD's, that is a difference as well: a PF that went away, say.
template <class Look>
void as_difference(const Look& look) try {
    look();
} catch (const cni::CniError& error) {
    differs(error.what());
}

} // namespace

void check(const cni::Request& request, const Config& config, const Node& node) {
    const auto deadline = base::Deadline::in(kCheckTimeout);
    if (!config.is_rdma_only() && !request.conf.prev_result)
        throw cni::CniError(cni::ErrorCode::invalid_network_config, "prevResult is missing, CHECK compares with it");
    Session session(request, node);
    const auto outcome = session.records.load(session.key);
    const auto* record = std::get_if<state::AttachmentRecord>(&outcome);
    if (record == nullptr)
        differs(concat("the journal in ", node.state_directory, " has no usable record of the attachment (",
                       session.key, ')'));
    if (record->phase != state::Phase::attached)
        differs(concat("the attachment (", session.key,
                       ") is incomplete: an ADD or a DEL of it has failed or ended early"));

    const kernel::Netns netns = open_pod_netns(request);
    as_difference([&] { check_kernel(request, config, *record, netns, deadline); });
    check_ipam(request, config, *record, session, deadline);
}

} // namespace rdmanet::attach
