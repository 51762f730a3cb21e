#include "plan.hpp"

#include <rdmanet/base/text.hpp>
#include <rdmanet/cni/delegate.hpp>
#include <rdmanet/cni/error.hpp>

#include <algorithm>
#include <limits>
#include <utility>

namespace rdmanet::attach {
namespace {

using base::concat;
using base::quoted;

void warn_of_ignored_requests(const cni::Request& request, const config::Config& config, const base::Logger& log) {
    if (!std::holds_alternative<config::NoIpam>(config.ipam)) return;
    if (const auto ips = cni::requested_ips(request.conf, request.args); !ips.empty())
        log.warn(concat("address ", ips.front().address, " is asked for, but network ", quoted(request.conf.name),
                        " has no \"ipam\" and gives no addresses"));
}

/// At 0.1.0 and 0.2.0 a result can't be written without an address: find that out before there is an interface.
void require_expressible(const cni::Request& request, const config::Config& config) {
    const bool has_addresses = !std::holds_alternative<config::NoIpam>(config.ipam) ||
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
void require_mtu_of_ipv6(const config::Config& config, unsigned default_mtu) {
    constexpr unsigned kLeast = 1280;
    const unsigned mtu = config.mtu.value_or(default_mtu);
    const auto* own = std::get_if<ipam::Config>(&config.ipam);
    if (mtu >= kLeast || own == nullptr || !gives_ipv6(*own)) return;
    throw cni::CniError(cni::ErrorCode::invalid_network_config,
                        concat("mtu: ", mtu, " is too small for IPv6 addresses, which need ", kLeast,
                               ": raise it, or configure no IPv6 range"));
}

/// Without a configured MTU: the parent's, or the device's own.
unsigned default_mtu_of(const Plan& plan) {
    if (const auto* child = std::get_if<ChildPlan>(&plan)) return child->parent.mtu;
    if (const auto* interface = std::get_if<InterfacePlan>(&plan)) return interface->link.mtu;
    const auto& link = std::get<DevicePlan>(plan).link;
    return link ? link->mtu : std::numeric_limits<unsigned>::max();
}

} // namespace

void require_possible(const cni::Request& request, const config::Config& config, const base::Logger& log) {
    require_expressible(request, config);
    if (const auto* other = std::get_if<config::DelegatedIpam>(&config.ipam))
        cni::require_plugin(cni::delegate_call(request, other->plugin));
    warn_of_ignored_requests(request, config, log);
}

Plan make_plan(const cni::Request& request, const config::Config& config, const Attachment& attachment, PodSide& pod,
               const std::optional<Movable>& moving, const base::Deadline& deadline) {
    Plan plan = [&]() -> Plan {
        if (const auto* device = moving ? std::get_if<base::BusAddress>(&*moving) : nullptr)
            return plan_device(request, config, attachment, pod, *device, deadline);
        if (const auto* name = moving ? std::get_if<std::string>(&*moving) : nullptr)
            return plan_interface(*name, request, config, attachment, pod, deadline);
        return plan_child(request, config, attachment, pod, deadline);
    }();
    require_mtu_of_ipv6(config, default_mtu_of(plan));
    return plan;
}

} // namespace rdmanet::attach
