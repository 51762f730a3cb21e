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

FoundDevice find_device(const Call& call, const BusAddress& address) {
    const config::Config& config = *call.config;
    require_existing(address);
    FoundDevice found{.address = address};
    if (call.pod != nullptr) {
        require_unclaimed(address.to_string(), call);
        found.waiting_names = list_waiting_names(call);
        found.is_settled = config.is_rdma_only() && is_rdma_moved_by_same_list(address, call);
    }
    if (found.is_settled) {
        refuse_late_choice(address, config.rdma);
        return found;
    }
    if (std::holds_alternative<config::Sriov>(config.attach)) found.vf = find_vf(address, call);
    if (!config.is_rdma_only()) found.link = find_device_link(address, *call.host);
    if (found.link) require_unused_by_node(address, *found.link, *call.host);
    return found;
}

FoundInterface find_interface(const Call& call, const std::string& name) {
    if (call.pod != nullptr) require_unclaimed(name, call);
    const auto parsed = base::InterfaceName::parse(name);
    auto link = parsed ? kernel::find_link(*call.host, *parsed) : std::nullopt;
    if (!link)
        refuse_device(quoted(name), "no longer exists on the host, because it was destroyed with the network namespace "
                                    "of its last pod: create it again");
    require_unused_by_node(quoted(name), *link, *call.host);
    return {.link = *std::move(link)};
}

FoundParent find_usable_parent(const Call& call, const kernel::Link* locked_parent) {
    const config::Config& config = *call.config;
    const bool is_in_pod = config.link_in_container && call.pod != nullptr;
    kernel::Socket& route = is_in_pod ? call.pod->route : *call.host;
    FoundParent found{.parent = locked_parent != nullptr ? *locked_parent : find_parent(*call.request, config, route)};
    require_usable(found.parent, config);
    return found;
}

} // namespace

Findings find_subject(const Call& call, const std::optional<Movable>& moving, const kernel::Link* locked_parent) {
    Findings found;
    if (const auto* device = moving ? std::get_if<BusAddress>(&*moving) : nullptr)
        found.device = find_device(call, *device);
    else if (const auto* name = moving ? std::get_if<std::string>(&*moving) : nullptr)
        found.interface = find_interface(call, *name);
    else
        found.parent = find_usable_parent(call, locked_parent);
    return found;
}

} // namespace rdmanet::attach
