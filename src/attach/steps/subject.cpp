#include "subject.hpp"

#include "rdma_names.hpp"
#include "vf_settings.hpp"

#include "lookup/device_link.hpp"
#include "lookup/device_usable.hpp"
#include "lookup/parent.hpp"
#include "owners/claims.hpp"

#include <rdmanet/base/text.hpp>

#include <string>
#include <variant>

namespace rdmanet::attach {
namespace {

using base::BusAddress;
using base::quoted;

FoundDevice find_device(const PlanContext& context, const BusAddress& address) {
    const config::Config& config = context.config;
    require_existing(address);
    FoundDevice found{.address = address};
    if (context.add != nullptr) {
        const Attachment& attachment = context.add->attachment;
        require_unclaimed(address.to_string(), attachment);
        found.waiting_names = list_waiting_names(name_keeper(attachment));
        found.is_settled = config.is_rdma_only() && is_rdma_moved_by_same_list(address, attachment);
    }
    if (found.is_settled) {
        refuse_late_choice(address, config.rdma);
        return found;
    }
    if (std::holds_alternative<config::Sriov>(config.attach)) found.vf = find_vf(address, context);
    if (!config.is_rdma_only()) found.link = find_device_link(address, context.host);
    if (found.link) require_unused_by_node(address, *found.link, context.host);
    return found;
}

FoundInterface find_interface(const PlanContext& context, const std::string& name) {
    if (context.add != nullptr) require_unclaimed(name, context.add->attachment);
    const auto parsed = base::InterfaceName::parse(name);
    auto link = parsed ? kernel::find_link(context.host, *parsed) : std::nullopt;
    if (!link)
        refuse_device(quoted(name), "no longer exists on the host, because it was destroyed with the network namespace "
                                    "of its last pod: create it again");
    require_unused_by_node(quoted(name), *link, context.host);
    return {.link = *std::move(link)};
}

FoundParent find_usable_parent(const PlanContext& context) {
    const config::Config& config = context.config;
    const bool is_in_pod = config.link_in_container && context.add != nullptr;
    kernel::Socket& route = is_in_pod ? context.add->pod.route : context.host;
    FoundParent found{.parent = context.locked_parent != nullptr ? *context.locked_parent
                                                                 : find_parent(context.request, config, route)};
    require_usable(found.parent, config);
    return found;
}

} // namespace

Findings find_subject(const PlanContext& context, const std::optional<Movable>& moving) {
    Findings found;
    if (const auto* device = moving ? std::get_if<BusAddress>(&*moving) : nullptr)
        found.device = find_device(context, *device);
    else if (const auto* name = moving ? std::get_if<std::string>(&*moving) : nullptr)
        found.interface = find_interface(context, *name);
    else
        found.parent = find_usable_parent(context);
    return found;
}

} // namespace rdmanet::attach
