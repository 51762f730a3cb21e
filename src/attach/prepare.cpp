#include "prepare.hpp"

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

/// Throws CniError if the version cannot express the result, or if the IPAM plugin is not installed.
void require_possible(const cni::Request& request, const config::Config& config, const base::Logger& log) {
    require_expressible(request, config);
    if (const auto* other = std::get_if<config::DelegatedIpam>(&config.ipam))
        cni::require_plugin(cni::delegate_call(request, other->plugin));
    warn_of_ignored_requests(request, config, log);
}

} // namespace

Target find_target(const cni::Request& request, const config::Config& config, const Attachment& attachment,
                   const base::Deadline& deadline) {
    require_storable(attachment.key, request.names);
    require_possible(request, config, attachment.node.log);
    Target target{.pod = open_pod_side(request, deadline), .moving = {}};
    if (config.is_device()) target.moving = find_movable(request, config, target.pod, attachment.records, deadline);
    return target;
}

Prepared prepare(const AddContext& context, const std::optional<Movable>& moving, const kernel::Link* locked_parent) {
    const cni::Request& request = context.request;
    if (!context.config.is_rdma_only() && kernel::find_link(context.pod.route, request.ifname()))
        throw cni::CniError(
            cni::ErrorCode::name_taken,
            fmt::format("interface {} already exists in {}: remove it, or choose another interface name",
                        quoted(request.ifname().to_string()), request.netns_path));
    const PlanContext to_plan{request,       context.config,   context.attachment.records,
                              context.log(), context.deadline, context.host,
                              &context,      locked_parent};
    Prepared prepared{.found = find_out(to_plan, moving),
                      .steps = {},
                      .record = begin_record(request, context.attachment.node,
                                             identify(request.netns_path, context.pod.netns, context.pod.route))};
    prepared.steps = plan_steps(context, prepared.found);
    prepared.record.attach = context.config.kind();
    prepared.record.rdma_device = rdma_device_of(prepared.steps);
    prepared.record.steps = recorded(prepared.steps);
    return prepared;
}

} // namespace rdmanet::attach
