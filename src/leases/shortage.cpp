#include "place.hpp"
#include "range_verdict.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/ipam/errors.hpp>
#include <rdmanet/leases/leases.hpp>

namespace rdmanet::leases {
namespace {

std::string shortage_of(const ipam::Config& config, ipam::Store& store, ipam::LivenessProbe& pods, const Node& node,
                        const base::Deadline& deadline) {
    ipam::Allocator allocator(store, pods);
    for (const std::string& doubt : allocator.find_doubts(deadline)) node.log.warn(doubt);
    for (const ipam::ConfiguredRange& configured : config.ranges)
        if (!allocator.has_room(configured, deadline))
            return fmt::format("no free address in range {} (leases: {}, none of a dead pod): enlarge the range, or "
                               "delete pods that `rdmanet state` shows",
                               configured.range, allocator.usage(configured, deadline).leases);
    return {};
}

/// What `look` says, for the memory.
template <class Look>
RangeVerdict judge(Look look) {
    using Kind = RangeVerdict::Kind;
    try {
        const std::string shortage = look();
        return {.kind = shortage.empty() ? Kind::room : Kind::full, .text = shortage};
    } catch (const ipam::StoreError& error) {
        return {.kind = error.temporary() ? Kind::unknown : Kind::refused, .text = error.what()};
    } catch (const base::TimeoutError& error) {
        return {.kind = Kind::unknown, .text = error.what()};
    }
}

} // namespace

std::string Leases::find_shortage(const ipam::Config& config, ipam::LivenessProbe& pods,
                                  const base::Deadline& deadline) {
    const auto look = [&](const ipam::Config& settled) {
        std::string shortage;
        with_store(place_of(settled),
                   [&](ipam::Store& store) { shortage = shortage_of(settled, store, pods, node_, deadline); });
        return shortage;
    };
    const ipam::Config known = remembered(config, node_, records_);
    if (known.store.kind != ipam::StoreKind::pools) return look(known); // of blocks, this node knows all that matters
    // A server that is away must not make every node of the cluster unready at once: pods that run don't need it, and
    // an ADD waits for it or says so itself.
    PlaceFinder places(node_, records_, file_, pods);
    places.require_possible(config, deadline);
    const RangeVerdictMemory memory(config, node_);
    auto verdict = memory.find();
    if (!verdict) {
        verdict = judge([&] { return look(places.settle(config, {}, deadline)); });
        memory.note(*verdict);
        if (verdict->kind == RangeVerdict::Kind::unknown)
            node_.log.warn(fmt::format("not known whether an ADD gets an address: {}", verdict->text));
    }
    if (verdict->kind == RangeVerdict::Kind::refused)
        throw ipam::StoreError(ipam::StoreError::Kind::permanent, verdict->text);
    return verdict->kind == RangeVerdict::Kind::full ? verdict->text : std::string();
}

} // namespace rdmanet::leases
