#include "plan.hpp"

#include "parent.hpp"
#include "rdma.hpp"

#include <rdmanet/attach/mac.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/cni/delegate.hpp>
#include <rdmanet/cni/error.hpp>

#include <algorithm>
#include <utility>

namespace rdmanet::attach {
namespace {

using base::concat;
using base::quoted;

void choose_mac(Plan& plan, const cni::Request& request, const Config& config, const Session& session) {
    const auto requested = cni::requested_mac(request.conf, request.args);
    if (!config.is_macvlan()) {
        if (requested)
            throw cni::CniError(cni::ErrorCode::unsupported_field,
                                concat(requested->source, ": ", requested->mac,
                                       " can't be set, ipvlan shares its parent's MAC address: use macvlan"));
        return;
    }
    if (requested)
        plan.mac = requested->mac;
    else if (config.mac)
        plan.mac = config.mac;
    else if (!is_passthru(config))
        plan.mac = derive_mac(session.node.boot_id, session.key);
}

/// At 0.1.0 and 0.2.0 a result can't be written without an address: find that out before there is an interface.
void require_expressible(const cni::Request& request, const Config& config) {
    const bool has_addresses = !std::holds_alternative<NoIpam>(config.ipam) ||
                               (request.conf.prev_result && !request.conf.prev_result->ips.empty());
    if (cni::can_be_expressed(request.conf.version, has_addresses)) return;
    throw cni::CniError(cni::ErrorCode::invalid_network_config,
                        concat("cniVersion ", quoted(cni::to_string(request.conf.version)),
                               " has no results without an address, and no \"ipam\" is configured: use cniVersion "
                               "\"0.3.1\" or later, or configure \"ipam\""));
}

bool gives_ipv6(const ipam::Config& config) {
    const auto is_v6 = [](base::Family family) { return family == base::Family::v6; };
    return std::any_of(config.ranges.begin(), config.ranges.end(),
                       [&](const ipam::ConfiguredRange& range) { return is_v6(range.range.family()); }) ||
           std::any_of(config.addresses.begin(), config.addresses.end(),
                       [&](const ipam::StaticAddress& address) { return is_v6(address.address.family()); });
}

/// The kernel switches IPv6 off on an interface with less than IPV6_MIN_MTU, and then refuses its addresses.
void require_mtu_of_ipv6(const Config& config, const kernel::Link& parent) {
    constexpr unsigned kLeast = 1280;
    const unsigned mtu = config.mtu.value_or(parent.mtu);
    const auto* own = std::get_if<ipam::Config>(&config.ipam);
    if (mtu >= kLeast || own == nullptr || !gives_ipv6(*own)) return;
    throw cni::CniError(cni::ErrorCode::invalid_network_config,
                        concat("mtu: ", mtu, " is too small for IPv6 addresses, which need ", kLeast,
                               ": raise it, or configure no IPv6 range"));
}

std::size_t expected_addresses(const Config& config) {
    const auto* own = std::get_if<ipam::Config>(&config.ipam);
    return own == nullptr ? 1 : own->ranges.size() + own->addresses.size();
}

/// What the child will name as its parent: the kernel puts a macvlan on a macvlan, or an ipvlan on an ipvlan, beside it
/// on the same lower device (macvlan_common_newlink(), ipvlan_link_new()).
unsigned index_of_lower(const kernel::Link& parent, const Config& config) {
    return parent.kind == config.kind() ? parent.parent_ifindex.value_or(parent.ifindex) : parent.ifindex;
}

} // namespace

bool is_passthru(const Config& config) {
    const auto* macvlan = std::get_if<Macvlan>(&config.attach);
    return macvlan != nullptr && macvlan->mode == kernel::MacvlanMode::passthru;
}

Plan make_plan(const cni::Request& request, const Config& config, const Session& session,
               const base::Deadline& deadline) {
    require_expressible(request, config);
    if (const auto* other = std::get_if<DelegatedIpam>(&config.ipam))
        cni::require_plugin(cni::delegate_call(request, other->plugin));
    kernel::Netns netns = open_pod_netns(request);
    kernel::Socket inside = kernel::Socket::open_in(netns, kernel::Protocol::route, deadline);
    kernel::Link parent = [&] {
        if (config.link_in_container) return find_parent(request, config, inside);
        kernel::Socket outside = kernel::Socket::open(kernel::Protocol::route, deadline);
        return find_parent(request, config, outside);
    }();
    Plan plan{.pod = {.netns = std::move(netns), .route = std::move(inside)},
              .parent = std::move(parent),
              .rdma = {},
              .mac = {}};
    require_usable(plan.parent, config);
    require_mtu_of_ipv6(config, plan.parent);
    choose_mac(plan, request, config, session);
    if (!config.link_in_container) {
        plan.rdma = find_rdma(config.rdma, plan.parent, request.conf.name, session.node.log, deadline);
        if (plan.rdma) require_gid_room(config.rdma, *plan.rdma, expected_addresses(config), session.node.log);
    }
    return plan;
}

state::CreateLink link_step(const std::string& ifname, const Config& config, const Plan& plan) {
    const bool kernel_takes_mac = plan.mac && !is_passthru(config);
    return {.kind = std::string(config.kind()),
            .mode = std::visit([](const auto& attach) { return kernel::to_string(attach); }, config.attach),
            .ifname = ifname,
            .parent = plan.parent.name,
            .parent_ifindex = index_of_lower(plan.parent, config),
            .parent_in_pod = config.link_in_container,
            .mac = kernel_takes_mac ? plan.mac->to_string() : std::string(),
            .ifindex = 0};
}

kernel::ChildSpec child_spec(const cni::Request& request, const Config& config, const Plan& plan) {
    kernel::ChildSpec spec{.name = request.ifname(),
                           .parent_ifindex = plan.parent.ifindex,
                           .parent_name = plan.parent.name,
                           .netns = &plan.pod.netns,
                           .kind = config.attach,
                           .mac = {},
                           .mtu = config.mtu};
    spec.up = false; // see bring_up()
    if (!is_passthru(config)) spec.mac = plan.mac;
    return spec;
}

} // namespace rdmanet::attach
