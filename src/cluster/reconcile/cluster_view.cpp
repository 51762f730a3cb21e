#include "cluster_view.hpp"

#include "../listing.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/ipam/errors.hpp>

#include <algorithm>
#include <variant>

namespace rdmanet::cluster {
namespace {

using ipam::StoreError;

constexpr const char* kAllPods = "/api/v1/pods";
constexpr const char* kAllNodes = "/api/v1/nodes";
// An answer is read as a whole: a pod has about 10 KB, and a node with many images 50.
constexpr int kPodsInPage = 250;
constexpr int kNodesInPage = 100;
// kubelet, pkg/kubelet/types, ConfigHashAnnotationKey.
constexpr const char* kConfigHash = "kubernetes.io/config.hash";

std::string member_text(const std::optional<json::Reader>& object, std::string_view key) {
    const auto member = object ? object->find(key) : std::nullopt;
    return member ? member->string() : std::string();
}

/// Of status.conditions; empty if it is absent.
std::string condition(const std::optional<json::Reader>& status, std::string_view type) {
    const auto conditions = status ? status->find("conditions") : std::nullopt;
    if (!conditions) return {};
    for (const json::Reader& one : conditions->elements())
        if (member_text(one, "type") == type) return member_text(one, "status");
    return {};
}

/// What can be a part of a request's path, and of an object's name.
bool is_name(std::string_view text) {
    constexpr std::size_t kLongest = 253;
    const auto is_alphanumeric = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
    return !text.empty() && text.size() <= kLongest && is_alphanumeric(text.front()) && is_alphanumeric(text.back()) &&
           std::all_of(text.begin(), text.end(), [&](char c) { return is_alphanumeric(c) || c == '-' || c == '.'; });
}

} // namespace

std::optional<Holder> holder_of(const std::string& podref) {
    const auto slash = podref.find('/');
    if (slash == std::string::npos) return std::nullopt;
    Holder holder{.pod_namespace = podref.substr(0, slash), .pod_name = podref.substr(slash + 1)};
    if (!is_name(holder.pod_namespace) || !is_name(holder.pod_name)) return std::nullopt;
    return holder;
}

ClusterView::Pod ClusterView::parse_pod(const json::Reader& object) {
    const json::Reader metadata = object.at("metadata");
    const auto status = object.find("status");
    const std::string phase = member_text(status, "phase");
    return {.uid = member_text(metadata, "uid"),
            .hash = member_text(metadata.find("annotations"), kConfigHash),
            .node_name = member_text(object.find("spec"), "nodeName"),
            .has_ended = phase == "Succeeded" || phase == "Failed",
            // kubelet says so when the sandbox is stopped (KEP-3085, PodReadyToStartContainersCondition).
            .is_torn_down = condition(status, "PodReadyToStartContainers") == "False"};
}

ClusterView::Node ClusterView::parse_node(const json::Reader& object) {
    const json::Reader metadata = object.at("metadata");
    const auto status = object.find("status");
    return {.name = metadata.at("name").string(),
            .uid = metadata.at("uid").string(),
            .boot_id = member_text(status ? status->find("nodeInfo") : std::nullopt, "bootID"),
            .is_ready = condition(status, "Ready") == "True"};
}

void ClusterView::forget() {
    pods_.reset();
    nodes_.reset();
}

void ClusterView::list_pods(const base::Deadline& deadline) {
    std::unordered_map<std::string, Pod> pods;
    const bool is_known = for_each_listed(
        api_, {.path = kAllPods, .page = kPodsInPage}, deadline, [&] { pods.clear(); },
        [&](const json::Reader& object) {
            const json::Reader metadata = object.at("metadata");
            pods.insert_or_assign(fmt::format("{}/{}", metadata.at("namespace").string(), metadata.at("name").string()),
                                  parse_pod(object));
        });
    if (!is_known)
        throw StoreError(StoreError::Kind::permanent, fmt::format("the API server does not know {}", kAllPods));
    pods_ = std::move(pods);
}

const std::vector<ClusterView::Node>& ClusterView::nodes(const base::Deadline& deadline) {
    if (!nodes_) nodes_ = list_parsed(api_, {.path = kAllNodes, .page = kNodesInPage}, deadline, parse_node);
    if (!nodes_)
        throw StoreError(StoreError::Kind::permanent, fmt::format("the API server does not know {}", kAllNodes));
    return *nodes_;
}

/// A pod that has the holder's name and another UID is a successor.
const ClusterView::Pod* ClusterView::find_pod(const Holder& holder, const base::Deadline& deadline) {
    if (!pods_) list_pods(deadline);
    const auto found = pods_->find(holder.podref());
    if (found == pods_->end()) return nullptr;
    const Pod& pod = found->second;
    const bool is_same = holder.pod_uid.empty() || pod.uid == holder.pod_uid || pod.hash == holder.pod_uid;
    return is_same ? &pod : nullptr;
}

/// As a list, for which reconciling has the right.
void ClusterView::look_again_at_node(const std::string& name, const base::Deadline& deadline) {
    if (!is_name(name)) return; // no Node can have it
    (void)nodes(deadline);
    auto now = list_parsed(api_, {.path = fmt::format("{}?fieldSelector=metadata.name%3D{}", kAllNodes, name)},
                           deadline, parse_node);
    std::erase_if(*nodes_, [&](const Node& node) { return node.name == name; });
    if (now) nodes_->insert(nodes_->end(), now->begin(), now->end());
}

bool ClusterView::is_node_gone(const std::string& uid, const std::string& boot_id, const base::Deadline& deadline) {
    const auto& all = nodes(deadline);
    return std::none_of(all.begin(), all.end(), [&](const Node& node) {
        return (!uid.empty() && node.uid == uid) || (!boot_id.empty() && node.boot_id == boot_id);
    });
}

/// UID and boot say which machine. A node that reports another boot by now has none of the pods of that boot. A name
/// says only which node to wait for: another machine may have it.
ClusterView::Place ClusterView::place_of(const Holder& holder, const Pod* pod, const base::Deadline& deadline) {
    const auto& all = nodes(deadline);
    const auto find = [&](auto is_wanted) -> const Node* {
        const auto found = std::find_if(all.begin(), all.end(), is_wanted);
        return found == all.end() ? nullptr : &*found;
    };
    const auto find_name = [&](const std::string& name) {
        return name.empty() ? nullptr : find([&](const Node& node) { return node.name == name; });
    };
    if (!holder.node_uid.empty())
        if (const Node* node = find([&](const Node& one) { return one.uid == holder.node_uid; })) return {.node = node};
    if (!holder.boot_id.empty())
        if (const Node* node = find([&](const Node& one) { return one.boot_id == holder.boot_id; }))
            return {.node = node};
    if (!holder.node_uid.empty()) return {.is_gone = true};
    const bool all_report = std::none_of(all.begin(), all.end(), [](const Node& one) { return one.boot_id.empty(); });
    if (!holder.boot_id.empty() && all_report) return {.is_gone = true};
    if (pod != nullptr && !pod->node_name.empty()) {
        const Node* node = find_name(pod->node_name);
        return {.node = node, .is_gone = node == nullptr};
    }
    return {.node = find_name(holder.node_name)};
}

Judgement ClusterView::judge(const Holder& holder, const base::Deadline& deadline) {
    using Need = Judgement::Need;
    const Pod* pod = find_pod(holder, deadline);
    if (pod != nullptr && !pod->has_ended) return {.need = Need::there};
    const Place place = place_of(holder, pod, deadline);
    if (place.node != nullptr && !place.node->is_ready)
        return {.need = Need::perhaps, .why = fmt::format("its node {} is not ready", place.node->name)};
    if (place.node == nullptr && !place.is_gone && unknown_node_ == ReconcileOptions::UnknownNode::keeps) {
        const auto& all = nodes(deadline);
        const auto unready = std::find_if(all.begin(), all.end(), [](const Node& node) { return !node.is_ready; });
        if (unready != all.end())
            return {.need = Need::perhaps,
                    .why = fmt::format("it does not say its node, and node {} is not ready", unready->name)};
    }
    if (pod == nullptr && !holder.pod_uid.empty())
        return {.need = Need::none, .rule = "pod-uid", .why = fmt::format("no pod has UID {}", holder.pod_uid)};
    if (pod == nullptr)
        return {.need = Need::none, .rule = "pod-name", .why = fmt::format("there is no pod {}", holder.podref())};
    if (pod->is_torn_down)
        return {.need = Need::none,
                .rule = "pod-ended",
                .why = "the pod has ended, and its node has taken its network down"};
    if (place.is_gone)
        return {.need = Need::none, .rule = "pod-ended", .why = "the pod has ended, and its node is gone"};
    return {.need = Need::perhaps, .why = "the pod has ended, and its node does not say that its network is down"};
}

Judgement ClusterView::judge_anew(const Holder& holder, const base::Deadline& deadline) try {
    if (!pods_) list_pods(deadline);
    const auto object = find_object(
        api_, fmt::format("/api/v1/namespaces/{}/pods/{}", holder.pod_namespace, holder.pod_name), deadline);
    if (object)
        pods_->insert_or_assign(holder.podref(), parse_pod(object->content.root()));
    else
        pods_->erase(holder.podref());
    return judge(holder, deadline);
} catch (const json::ValueError& error) {
    throw StoreError(StoreError::Kind::permanent, fmt::format("pod {}: {}", holder.podref(), error.what()));
}

std::int64_t ClusterView::now(const base::Deadline& deadline) try {
    const kube::Outcome outcome = api_.get(fmt::format("{}?limit=1", kAllPods), deadline, kube::Shape::metadata);
    if (const auto* refused = std::get_if<kube::Refused>(&outcome)) refuse_read(api_, *refused);
    if (const auto date = std::get<kube::Object>(outcome).date) return *date;
    throw StoreError(StoreError::Kind::permanent, "the API server does not say its time (Date)");
} catch (const http::TransportError& error) {
    throw StoreError(StoreError::Kind::temporary, error.what());
}

} // namespace rdmanet::cluster
