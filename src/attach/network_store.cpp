#include "network_store.hpp"

#include "clusters.hpp"
#include "etcd_leases.hpp"
#include "moved_ranges.hpp"
#include "own_leases.hpp"
#include "shared_leases.hpp"

#include <rdmanet/base/boot_memory.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/cluster/recorded_store.hpp>
#include <rdmanet/ipam/errors.hpp>

#include <algorithm>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace rdmanet::attach {
namespace {

using cluster::Place;
using cluster::RecordedStore;

constexpr const char* kUnreadable = "?"; // Answer::store: what the cluster has recorded cannot be read

/// One range of the network. Without `object`, the cluster has nothing recorded.
struct Answer {
    Place place;
    std::string store{};
    std::string object{};
    std::string node{};
};
using Answers = std::vector<Answer>;

bool is_in_etcd(const ipam::Config& config) {
    return config.store.kind == ipam::StoreKind::etcd;
}

/// As Clusters::give_up() names it.
std::string server_of(const ipam::Config& config) {
    return is_in_etcd(config) ? ipam::to_text(config.store.etcd) : config.store.kubeconfig;
}

base::BootMemory memory_of(const ipam::Config& config, const Place& place, const Node& node) {
    return {node.state_directory, node.boot_id, "range",
            fmt::format("{}\n{}\n{}", server_of(config), place.space, place.subnet)};
}

std::vector<Place> places_of(const ipam::Config& config) {
    std::vector<Place> places;
    for (const ipam::ConfiguredRange& range : config.ranges) {
        const base::IpPrefix& subnet = range.range.subnet();
        places.push_back(
            {.space = range.space, .subnet = base::IpPrefix::make(subnet.network(), subnet.length()).value()});
    }
    return places;
}

/// nullopt: this node does not know it, of at least one range.
std::optional<Answers> remembered(const ipam::Config& config, const Node& node) {
    Answers answers;
    for (Place& place : places_of(config)) {
        const auto text = memory_of(config, place, node).find();
        if (!text) return std::nullopt;
        Answer answer{.place = std::move(place)};
        std::istringstream lines(*text);
        std::getline(lines, answer.store);
        std::getline(lines, answer.object);
        std::getline(lines, answer.node);
        answers.push_back(std::move(answer));
    }
    return answers;
}

/// Of the Kubernetes API.
void read_recorded(Answers& answers, const ipam::Config& config, const Node& node, const base::Deadline& deadline) {
    kube::Api& api = node.clusters->connect(
        config.store.kubeconfig, {.connect = config.store.limits.connect, .request = config.store.limits.request},
        node.log);
    const auto all = cluster::find_recorded_stores(api, places_of(config), deadline);
    for (Answer& answer : answers) {
        if (!all) answer.store = kUnreadable;
        for (const RecordedStore& recorded : all.value_or(std::vector<RecordedStore>{}))
            if (answer.place == recorded.place) {
                answer.store = recorded.store;
                answer.object = recorded.object;
                answer.node = recorded.node;
            }
    }
}

std::string recorded_in_etcd(const Place& place, const ipam::Config& config, const Node& node,
                             const base::Deadline& deadline) {
    const cluster::EtcdRange::Record record = open_etcd_range(*lease_store_of(config), place, node).read(deadline);
    return record.store.empty() && record.revision != 0 ? kUnreadable : record.store;
}

Answers ask_cluster(const ipam::Config& config, const Node& node, const base::Deadline& deadline) {
    Answers answers;
    for (Place& place : places_of(config)) answers.push_back({.place = std::move(place)});
    if (is_in_etcd(config))
        for (Answer& answer : answers) answer.store = recorded_in_etcd(answer.place, config, node, deadline);
    else
        read_recorded(answers, config, node, deadline);
    return answers;
}

void remember(const Answers& answers, const ipam::Config& config, const Node& node) {
    for (const Answer& answer : answers)
        memory_of(config, answer.place, node).note(fmt::format("{}\n{}\n{}", answer.store, answer.object, answer.node));
}

/// Whether the cluster leaves all ranges to whoever comes first.
bool is_unrecorded(const Answers& answers) {
    return std::all_of(answers.begin(), answers.end(), [](const Answer& answer) { return answer.store.empty(); });
}

/// nullopt: the server can't be asked. The network's store asks it, too, and says what is wrong. Throws
/// ipam::StoreError if it has to be known.
std::optional<Answers> answers_for(const ipam::Config& config, const Node& node, AskCluster ask, bool is_on_node,
                                   const base::Deadline& deadline) {
    auto known = remembered(config, node);
    const bool is_open = !known || is_unrecorded(*known);
    if (known && ask == AskCluster::if_unknown) return known;
    if (known && ask == AskCluster::if_unrecorded && !(is_on_node && is_open)) return known;
    try {
        Answers answers = ask_cluster(config, node, deadline);
        if (ask != AskCluster::anew) remember(answers, config, node);
        return answers;
    } catch (const ipam::StoreError& error) {
        if (error.unreachable()) node.clusters->give_up(server_of(config), error.what());
        if (is_on_node && is_open) throw;
        return known;
    }
}

ipam::StoreKind kind_of(const Answer& answer, const ipam::Config& config) {
    for (const auto& [kind, fit] : config.store.open_to)
        if (answer.store == to_string(kind)) return kind;
    if (answer.store == to_string(ipam::StoreKind::etcd))
        throw ipam::StoreError(ipam::StoreError::Kind::permanent,
                               fmt::format("AddressRange {} of the cluster has range {} in store \"etcd\": name that "
                                           "\"store\" and its \"etcd\" in the network, or use a range of its own",
                                           answer.object, answer.place.subnet));
    if (answer.store == to_string(ipam::StoreKind::node))
        throw ipam::StoreError(
            ipam::StoreError::Kind::permanent,
            fmt::format("AddressRange {} of the cluster has range {} in store \"node\", from which one node gives its "
                        "addresses: set \"store\": \"node\" in the network on that node, or run `rdmanet ipam migrate "
                        "--to {} --network FILE` there",
                        answer.object, answer.place.subnet, config.store.kind));
    throw ipam::StoreError(ipam::StoreError::Kind::permanent,
                           fmt::format("AddressRange {} of the cluster has range {} in store {}, which this version "
                                       "does not know: name the \"store\" of the network, or use a range of its own",
                                       answer.object, answer.place.subnet, base::quoted(answer.store)));
}

/// The store that the cluster has recorded for all ranges, as far as it has.
ipam::Config settle(const ipam::Config& config, const Answers& answers) {
    const Answer* first = nullptr;
    for (const Answer& answer : answers) {
        if (answer.object.empty()) continue;
        if (first == nullptr) first = &answer;
        if (answer.store != first->store)
            throw ipam::StoreError(
                ipam::StoreError::Kind::permanent,
                fmt::format("the cluster has range {} in store {} (AddressRange {}) and range {} in store {} "
                            "(AddressRange {}), and a network has one store: use ranges of one store",
                            first->place.subnet, base::quoted(first->store), first->object, answer.place.subnet,
                            base::quoted(answer.store), answer.object));
    }
    if (first == nullptr) return ipam::settle_store(config, config.store.kind, config.store.why);
    return ipam::settle_store(config, kind_of(*first, config),
                              fmt::format("recorded in AddressRange {}{}{}", first->object,
                                          first->node.empty() ? "" : " by node ", first->node));
}

/// In the node's own store, until somebody moves them.
ipam::Config stay_on_node(ipam::Config config, const RangeOnNode& has) {
    config.warnings = {
        fmt::format("range {} stays in the store of this node, which has {} of it, and the cluster has "
                    "recorded no store for it: run `rdmanet ipam migrate --to {} --network FILE` on this "
                    "node to move it",
                    has.range, has.leases, config.store.kind)};
    config.store = {.why = fmt::format("which has {} of range {}", has.leases, has.range)};
    return config;
}

/// Unless a move has begun.
std::optional<RangeOnNode> find_staying(const ipam::Config& config, ipam::SqliteStore& on_node, const Node& node,
                                        const base::Deadline& deadline) {
    auto has = find_range_on_node(config, on_node, node, deadline);
    return has && MovedRanges(node).find(config) ? std::nullopt : has;
}

} // namespace

ipam::Config settle_store(const ipam::Config& config, ipam::SqliteStore& on_node, const Node& node, AskCluster ask,
                          const base::Deadline& deadline) {
    if (config.store.is_named) return config;
    const auto has = find_staying(config, on_node, node, deadline);
    if (!has && config.store.open_to.empty()) return config; // nobody has to be asked
    const Answers answers =
        answers_for(config, node, ask, has.has_value(), node.clusters->until(deadline.at_most(config.store.limits.add)))
            .value_or(Answers{});
    const bool stays = has && is_unrecorded(answers);
    if (!stays && config.store.open_to.empty()) return config;
    ipam::Config settled = stays ? stay_on_node(config, *has) : settle(config, answers);
    for (const std::string& warning : settled.warnings) node.log.warn(warning);
    return settled;
}

ipam::Config settle_store(const ipam::Config& config, const std::optional<state::LeaseStore>& earlier,
                          ipam::SqliteStore& on_node, const Node& node, const base::Deadline& deadline) {
    if (earlier && !earlier->is_released && earlier->kubeconfig == config.store.kubeconfig) {
        if (is_in_etcd(config) && earlier->kind == to_string(config.store.kind)) return config;
        for (const auto& [kind, fit] : config.store.open_to)
            if (earlier->kind == to_string(kind))
                return ipam::settle_store(config, kind, "as in an earlier ADD of this attachment");
    }
    return settle_store(config, on_node, node, AskCluster::if_unrecorded, deadline);
}

ipam::Config remembered_store(const ipam::Config& config, const Node& node) {
    return config.store.open_to.empty() ? config : settle(config, remembered(config, node).value_or(Answers{}));
}

void forget_store(const ipam::Config& config, const Node& node) {
    for (const Place& place : places_of(config)) memory_of(config, place, node).forget();
}

} // namespace rdmanet::attach
