#include "network_store.hpp"

#include "clusters.hpp"

#include <rdmanet/base/boot_memory.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/cluster/recorded_store.hpp>
#include <rdmanet/ipam/errors.hpp>

#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace rdmanet::attach {
namespace {

using cluster::Place;
using cluster::RecordedStore;

/// One range of the network. Without `object`, the cluster has nothing recorded.
struct Answer {
    Place place;
    std::string store{};
    std::string object{};
    std::string node{};
};

base::BootMemory memory_of(const ipam::Config& config, const Place& place, const Node& node) {
    return {node.state_directory, node.boot_id, "range",
            fmt::format("{}\n{}\n{}", config.store.kubeconfig, place.space, place.subnet)};
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
std::optional<std::vector<Answer>> remembered(const ipam::Config& config, const Node& node) {
    std::vector<Answer> answers;
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

std::vector<Answer> ask_cluster(const ipam::Config& config, const Node& node, const base::Deadline& deadline) {
    const std::vector<Place> places = places_of(config);
    kube::Api& api = node.clusters->connect(
        config.store.kubeconfig, {.connect = config.store.limits.connect, .request = config.store.limits.request},
        node.log);
    std::vector<Answer> answers;
    answers.reserve(places.size());
    for (const Place& place : places) answers.push_back({.place = place});
    for (RecordedStore& recorded : cluster::find_recorded_stores(api, places, deadline))
        for (Answer& answer : answers)
            if (answer.place == recorded.place) {
                answer.store = recorded.store;
                answer.object = recorded.object;
                answer.node = recorded.node;
            }
    return answers;
}

void remember(const std::vector<Answer>& answers, const ipam::Config& config, const Node& node) {
    for (const Answer& answer : answers)
        memory_of(config, answer.place, node).note(fmt::format("{}\n{}\n{}", answer.store, answer.object, answer.node));
}

/// nullopt: the server can't be asked. The network's store asks it, too, and says what is wrong.
std::optional<std::vector<Answer>> answers_for(const ipam::Config& config, const Node& node, AskCluster ask,
                                               const base::Deadline& deadline) {
    auto known = remembered(config, node);
    if (ask == AskCluster::never || (known && ask == AskCluster::if_unknown)) return known;
    try {
        std::vector<Answer> answers = ask_cluster(config, node, deadline);
        if (ask == AskCluster::if_unknown) remember(answers, config, node);
        return answers;
    } catch (const ipam::StoreError& error) {
        if (error.unreachable()) node.clusters->give_up(config.store.kubeconfig, error.what());
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
    throw ipam::StoreError(ipam::StoreError::Kind::permanent,
                           fmt::format("AddressRange {} of the cluster has range {} in store {}, which this version "
                                       "does not know: name the \"store\" of the network, or use a range of its own",
                                       answer.object, answer.place.subnet, base::quoted(answer.store)));
}

} // namespace

ipam::Config settle_store(const ipam::Config& config, const Node& node, AskCluster ask,
                          const base::Deadline& deadline) {
    if (config.store.open_to.empty()) return config;
    const std::vector<Answer> answers =
        answers_for(config, node, ask, node.clusters->until(deadline.at_most(config.store.limits.add)))
            .value_or(std::vector<Answer>{});
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
    ipam::Config settled = first == nullptr
                               ? ipam::settle_store(config, config.store.kind, config.store.why)
                               : ipam::settle_store(config, kind_of(*first, config),
                                                    fmt::format("recorded in AddressRange {}{}{}", first->object,
                                                                first->node.empty() ? "" : " by node ", first->node));
    if (ask != AskCluster::never)
        for (const std::string& warning : settled.warnings) node.log.warn(warning);
    return settled;
}

ipam::Config settle_store(const ipam::Config& config, const std::optional<state::LeaseStore>& earlier, const Node& node,
                          const base::Deadline& deadline) {
    if (earlier && !earlier->is_released && earlier->kubeconfig == config.store.kubeconfig)
        for (const auto& [kind, fit] : config.store.open_to)
            if (earlier->kind == to_string(kind))
                return ipam::settle_store(config, kind, "as in an earlier ADD of this attachment");
    return settle_store(config, node, AskCluster::if_unknown, deadline);
}

void forget_store(const ipam::Config& config, const Node& node) {
    for (const Place& place : places_of(config)) memory_of(config, place, node).forget();
}

} // namespace rdmanet::attach
