#include "plan.hpp"

#include "lookup/request.hpp"
#include "owners/claims.hpp"
#include "owners/liveness.hpp"

#include <rdmanet/attach/preview.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/ipam/allocator.hpp>
#include <rdmanet/state/state_directory.hpp>

#include <utility>
#include <variant>

namespace rdmanet::attach {
namespace {

/// What ADD would lease from the range: an address, or the requested one.
std::string lease_target(const ipam::Range& range, const std::vector<ipam::RequestedAddress>& requested) {
    for (const ipam::RequestedAddress& each : requested)
        if (range.contains(each.address)) return fmt::format("the requested address {}", each.address);
    return "an address";
}

std::string describe_lease(const RangeUsage& now, const std::string& target) {
    const std::string free = ipam::to_text(now.free_count());
    const std::string usable = ipam::to_text(now.range.usable_count());
    if (now.usage.cooling == 0)
        return fmt::format("lease {} from range {}: {} of {} are free", target, now.range, free, usable);
    return fmt::format("lease {} from range {}: {} of {} are free, {} of these in cooldown", target, now.range, free,
                       usable, now.usage.cooling);
}

/// What other nodes have is not known here.
std::string describe_lease_in_blocks(const RangeUsage& now, const std::string& target) {
    return fmt::format("lease {} from range {}, of which this node has {}", target, now.range,
                       base::counted(now.usage.leases, "lease", "leases"));
}

void describe_leases_in(ipam::Allocator& allocator, Preview& preview, const ipam::Config& own,
                        const std::vector<ipam::RequestedAddress>& requested, const Call& call) {
    for (const std::string& warning : allocator.foresee(own, requested, call.deadline)) call.log.warn(warning);
    for (const ipam::ConfiguredRange& configured : own.ranges) {
        const RangeUsage now{.range = configured.range, .usage = allocator.usage(configured, call.deadline)};
        const std::string target = lease_target(now.range, requested);
        preview.actions.push_back(own.store.kind == ipam::StoreKind::blocks ? describe_lease_in_blocks(now, target)
                                                                            : describe_lease(now, target));
        preview.ranges.push_back(now);
    }
    for (const ipam::StaticAddress& each : own.addresses)
        preview.actions.push_back(
            own.store.kind == ipam::StoreKind::pools
                ? fmt::format("give {}, which the configuration names and no store records", each.address)
                : fmt::format("lease {}, which the configuration names", each.address));
}

void describe_leases(Preview& preview, const Call& call) {
    const auto* configured = std::get_if<ipam::Config>(&call.config->ipam);
    if (configured == nullptr) return;
    PodProbe pods(call.node);
    leases::Leases& leases = call.leases;
    const ipam::Config own = leases.settle(*configured, pods, call.deadline);
    const auto requested = requested_addresses(*call.request);
    preview.actions.push_back(leases::describe_place(own.store));
    for (const std::string& warning : leases.find_ignored_ranges(own.store, call.deadline)) call.log.warn(warning);
    leases.with_store(leases::place_of(own), [&](ipam::Store& store) {
        ipam::Allocator allocator(store, pods);
        describe_leases_in(allocator, preview, own, requested, call);
    });
}

/// Only `rdmanet plan` warns: ADD cannot know whether the runtime has that capability.
void warn_of_missing_capability(const Call& call, const Findings& found) {
    if (!found.device || call.config->device_info_file) return;
    const auto capabilities = call.request->conf.document.root().find("capabilities");
    const auto declared = capabilities ? capabilities->find("CNIDeviceInfoFile") : std::nullopt;
    if (declared && declared->is_boolean() && declared->boolean()) return;
    call.log.warn(
        "capabilities: \"CNIDeviceInfoFile\" is missing, so the pod's network status will not name the device: add "
        "\"capabilities\": {\"CNIDeviceInfoFile\": true}");
}

} // namespace

base::Uint128 RangeUsage::free_count() const {
    return range.usable_count() - usage.leases;
}

Preview preview_add(const cni::Request& request, const config::Config& config, const Node& node) {
    Call call(node, base::Deadline::in(kAddTimeout), request, state::Access::look);
    call.config = &config;
    state::require_directory(node.state_directory);
    require_possible(call);
    PodSide pod = open_pod_side(request, call.deadline);
    kernel::Socket host = kernel::Socket::open(kernel::Protocol::route, call.deadline);
    call.pod = &pod;
    call.host = &host;
    std::optional<Movable> moving;
    if (config.is_device()) moving = find_movable(call);
    Preview preview;
    if (moving)
        for (const state::AttachmentRecord& stale : list_stale_owners(to_string(*moving), call)) {
            preview.taken_back.push_back(describe(stale));
            call.disregarded.push_back(stale.key);
        }
    Plan planned = plan(call, moving);
    warn_of_missing_capability(call, planned.found);
    describe_leases(preview, call);
    Description description;
    for (const auto& step : planned.steps) step->describe(call, description);
    for (const auto* texts : {&description.add, &description.end})
        preview.actions.insert(preview.actions.end(), texts->begin(), texts->end());
    preview.record = std::move(planned.record);
    return preview;
}

} // namespace rdmanet::attach
