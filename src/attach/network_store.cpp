#include "network_store.hpp"

#include "clusters.hpp"
#include "node_store.hpp"
#include "one_store.hpp"
#include "recording_server.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/ipam/errors.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rdmanet::attach {
namespace {

RecordingServer server_of(const ipam::Config& config, const Node& node) {
    return {config.store.kubeconfig, config.store.limits, node};
}

/// Whether the cluster leaves all ranges to whoever comes first.
bool is_unrecorded(const RecordedRanges& ranges) {
    return std::all_of(ranges.begin(), ranges.end(), [](const RecordedRange& range) { return range.store.empty(); });
}

constexpr std::chrono::milliseconds kTimeForStore{500}; // with less, it could not even say what is wrong

/// nullopt: the server can't be asked. The network's store asks it, too, and says what is wrong. Throws
/// ipam::StoreError if it has to be known.
std::optional<RecordedRanges> find_recorded(const ipam::Config& config, const Node& node, AskCluster ask,
                                            bool is_on_node, const base::Deadline& deadline) {
    const RecordingServer server = server_of(config, node);
    auto known = server.remembered(places_of(config));
    const bool is_open = !known || is_unrecorded(*known);
    if (known && ask == AskCluster::if_unknown) return known;
    if (known && ask == AskCluster::if_unrecorded && !(is_on_node && is_open)) return known;
    try {
        RecordedRanges ranges = server.ask(places_of(config), deadline);
        if (ask != AskCluster::anew) server.remember(ranges);
        return ranges;
    } catch (const ipam::StoreError&) {
        if ((is_on_node && is_open) || deadline.remaining() < kTimeForStore) throw;
        return known;
    }
}

ipam::StoreKind kind_of(const RecordedRange& range, const ipam::Config& config) {
    for (const auto& [kind, fit] : config.store.open_to)
        if (range.store == to_string(kind)) return kind;
    if (range.store == to_string(ipam::StoreKind::node))
        throw ipam::StoreError(
            ipam::StoreError::Kind::permanent,
            fmt::format("AddressRange {} of the cluster has range {} in store \"node\", from which one node gives its "
                        "addresses: set \"store\": \"node\" in the network on that node, or delete that AddressRange "
                        "after the pods of the range are gone",
                        range.object, range.place.subnet));
    throw ipam::StoreError(ipam::StoreError::Kind::permanent,
                           fmt::format("AddressRange {} of the cluster has range {} in store {}, which this version "
                                       "does not know: name the \"store\" of the network, or use a range of its own",
                                       range.object, range.place.subnet, base::quoted(range.store)));
}

/// The store that the cluster has recorded for all ranges, as far as it has.
ipam::Config settle(const ipam::Config& config, const RecordedRanges& ranges) {
    const RecordedRange* first = nullptr;
    for (const RecordedRange& range : ranges) {
        if (range.object.empty()) continue;
        if (first == nullptr) first = &range;
        if (range.store != first->store)
            throw ipam::StoreError(
                ipam::StoreError::Kind::permanent,
                fmt::format("the cluster has range {} in store {} (AddressRange {}) and range {} in store {} "
                            "(AddressRange {}), and a network has one store: use ranges of one store",
                            first->place.subnet, base::quoted(first->store), first->object, range.place.subnet,
                            base::quoted(range.store), range.object));
    }
    if (first == nullptr) return ipam::settle_store(config, config.store.kind, config.store.why);
    return ipam::settle_store(config, kind_of(*first, config),
                              fmt::format("recorded in AddressRange {}{}{}", first->object,
                                          first->node.empty() ? "" : " by node ", first->node));
}

/// Why the network's store, the node's own, must not give from a range.
std::optional<std::string> find_other_record(const RecordedRanges& ranges, const ipam::Config& config) {
    for (const RecordedRange& range : ranges) {
        if (range.store.empty() || range.is_unreadable() || range.store == to_string(config.store.kind)) continue;
        return fmt::format(
            "AddressRange {} of the cluster has range {} in store {}, and the network names \"{}\": name "
            "one store for the range, or use a range of its own",
            range.object, range.place.subnet, base::quoted(range.store), config.store.kind);
    }
    return std::nullopt;
}

/// A network may name the node's own store, and it or its node a cluster. Asks that once in a boot, and again before it
/// refuses: somebody may have deleted the record since.
void require_not_in_cluster(const ipam::Config& config, const Node& node, AskCluster ask,
                            const base::Deadline& deadline) {
    if (config.ranges.empty() || config.store.other_kubeconfig.empty()) return;
    const RecordingServer server(config.store.other_kubeconfig, config.store.limits, node);
    const std::vector<cluster::Place> places = places_of(config);
    const auto known = server.remembered(places);
    if (known && ask != AskCluster::anew && !find_other_record(*known, config)) return;
    const RecordedRanges ranges =
        base::in_context("look whether the cluster has another store for the network's ranges",
                         [&] { return server.ask(places, deadline); });
    if (ask != AskCluster::anew) server.remember(ranges);
    if (const auto other = find_other_record(ranges, config))
        throw ipam::StoreError(ipam::StoreError::Kind::permanent, *other);
}

/// In the node's own store, which the cluster would not know.
ipam::Config stay_on_node(ipam::Config config, const RangeOnNode& has) {
    config.warnings = {
        fmt::format("range {} stays in the store of this node, which has {} of it, and the cluster has "
                    "recorded no store for it: for store \"{}\", delete the pods of the range on this node first",
                    has.range, has.leases, config.store.kind)};
    config.store = {.why = fmt::format("which has {} of range {}", has.leases, has.range)};
    return config;
}

} // namespace

ipam::Config settle_store(const ipam::Config& config, NodeStore& on_node, const Node& node, AskCluster ask,
                          const base::Deadline& deadline) {
    const base::Deadline until = node.clusters->until(deadline.at_most(config.store.limits.add));
    // STATUS comes twice a second, and leaves it to ADD.
    if (ask != AskCluster::if_unknown) require_not_in_cluster(config, node, ask, until);
    if (config.store.open_to.empty()) return config; // nobody has to be asked
    const auto has = find_range_on_node(config, on_node, node, deadline);
    const RecordedRanges ranges = find_recorded(config, node, ask, has.has_value(), until).value_or(RecordedRanges{});
    ipam::Config settled = has && is_unrecorded(ranges) ? stay_on_node(config, *has) : settle(config, ranges);
    for (const std::string& warning : settled.warnings) node.log.warn(warning);
    return settled;
}

ipam::Config settle_store(const ipam::Config& config, const std::optional<state::LeaseStore>& earlier,
                          NodeStore& on_node, const Node& node, const base::Deadline& deadline) {
    if (earlier && !earlier->is_released && earlier->kubeconfig == config.store.kubeconfig) {
        for (const auto& [kind, fit] : config.store.open_to)
            if (earlier->kind == to_string(kind))
                return ipam::settle_store(config, kind, "as in an earlier ADD of this attachment");
    }
    return settle_store(config, on_node, node, AskCluster::if_unrecorded, deadline);
}

ipam::Config remembered_store(const ipam::Config& config, const Node& node) {
    return config.store.open_to.empty()
               ? config
               : settle(config, server_of(config, node).remembered(places_of(config)).value_or(RecordedRanges{}));
}

void forget_store(const ipam::Config& config, const Node& node) {
    server_of(config, node).forget(places_of(config));
}

} // namespace rdmanet::attach
