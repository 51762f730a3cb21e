#include "plan.hpp"

#include "steps/registry.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/cni/delegate.hpp>
#include <rdmanet/cni/error.hpp>

#include <utility>
#include <variant>

namespace rdmanet::attach {
namespace {

using base::quoted;

void warn_of_ignored_requests(const cni::Request& request, const config::Config& config, const base::Logger& log) {
    if (!std::holds_alternative<config::NoIpam>(config.ipam)) return;
    if (const auto ips = cni::requested_ips(request.conf, request.args); !ips.empty())
        log.warn(
            fmt::format("address {} is requested, but network {} gives no addresses: add \"ipam\" to the network, or "
                        "remove the request",
                        ips.front().address, quoted(request.conf.name)));
}

/// A result of versions 0.1.0 and 0.2.0 needs an address. Find that out before there is an interface.
void require_expressible(const cni::Request& request, const config::Config& config) {
    const bool has_addresses = !std::holds_alternative<config::NoIpam>(config.ipam) ||
                               (request.conf.prev_result && !request.conf.prev_result->ips.empty());
    if (cni::can_be_expressed(request.conf.version, has_addresses)) return;
    const std::string version = quoted(cni::to_string(request.conf.version));
    if (!request.conf.document.root().find("cniVersion"))
        throw cni::CniError(cni::ErrorCode::invalid_network_config,
                            fmt::format("cniVersion is missing, which means {}, and a result of that version needs an "
                                        "address: set \"cniVersion\" to \"0.3.1\" or later, or add \"ipam\"",
                                        version));
    throw cni::CniError(
        cni::ErrorCode::invalid_network_config,
        fmt::format("cniVersion is {}, and a result of that version needs an address: set \"cniVersion\" to "
                    "\"0.3.1\" or later, or add \"ipam\"",
                    version));
}

} // namespace

void require_possible(const Call& call) {
    require_storable(call.key, call.request->names);
    require_expressible(*call.request, *call.config);
    if (const auto* other = std::get_if<config::DelegatedIpam>(&call.config->ipam))
        cni::require_plugin(cni::delegate_call(*call.request, other->plugin));
    warn_of_ignored_requests(*call.request, *call.config, call.log);
}

Plan plan(const Call& call, const std::optional<Movable>& moving, const kernel::Link* locked_parent) {
    const cni::Request& request = *call.request;
    if (!call.config->is_rdma_only() && kernel::find_link(call.pod->route, request.ifname()))
        throw cni::CniError(
            cni::ErrorCode::name_taken,
            fmt::format("interface {} already exists in {}: remove it, or choose another interface name",
                        quoted(request.ifname().to_string()), request.netns_path));
    Plan plan{.found = find(call, moving, locked_parent),
              .steps = {},
              .record = begin_record(call, identify(request.netns_path, call.pod->netns, call.pod->route))};
    plan.steps = make(call, plan.found);
    plan.record.attach = call.config->kind();
    plan.record.rdma_device = rdma_device_of(plan.steps);
    plan.record.steps = recorded(plan.steps);
    return plan;
}

} // namespace rdmanet::attach
