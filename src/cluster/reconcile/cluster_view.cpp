#include "cluster_view.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/ipam/errors.hpp>

namespace rdmanet::cluster {
namespace {

constexpr const char* kAllNodes = "/api/v1/nodes";
constexpr int kNodesInPage = 100; // a Node with many images has 50 KB

} // namespace

NodeFate fate_of(const NodeMark& holder, const std::optional<NodeObject>& node) {
    if (!node) return NodeFate::gone;
    if (node->boot_id == holder.boot_id) return node->is_out_of_service ? NodeFate::off : NodeFate::there;
    if (node->boot_id.empty() || node->machine_id.empty()) return NodeFate::there;
    return is_same_machine(holder, *node) ? NodeFate::over : NodeFate::gone;
}

const char* word_of(NodeFate fate) {
    switch (fate) {
    case NodeFate::gone: return "gone";
    case NodeFate::over: return "over";
    case NodeFate::off: return "off";
    case NodeFate::there: break;
    }
    return "there";
}

std::string describe(NodeFate fate, const NodeMark& holder) {
    switch (fate) {
    case NodeFate::gone:
        return fmt::format("no Node is the machine of node {} and its boot {}", holder.name, holder.boot_id);
    case NodeFate::over: return fmt::format("node {} has booted again since boot {}", holder.name, holder.boot_id);
    case NodeFate::off: return fmt::format("node {} has the taint node.kubernetes.io/out-of-service", holder.name);
    case NodeFate::there: break;
    }
    return fmt::format("node {} is there", holder.name);
}

void ClusterView::forget() {
    nodes_.reset();
    pods_.clear();
}

std::vector<NodeObject> ClusterView::list_nodes(const std::string& query, const base::Deadline& deadline) {
    return requests_.list<NodeObject>(
        {.path = kAllNodes + query, .page = kNodesInPage}, deadline,
        [](const json::Reader& object) { return std::optional(NodeObject::parse(object)); });
}

/// A machine that has another name by now still reports its boot.
NodeFate ClusterView::fate_of(const NodeMark& holder, const base::Deadline& deadline) {
    if (!nodes_) {
        nodes_.emplace();
        for (NodeObject& node : list_nodes({}, deadline)) {
            if (!node.boot_id.empty()) nodes_->by_boot.emplace(node.boot_id, node);
            nodes_->by_name.emplace(node.name, std::move(node));
        }
    }
    if (const auto found = nodes_->by_boot.find(holder.boot_id); found != nodes_->by_boot.end())
        return cluster::fate_of(holder, found->second);
    const auto found = nodes_->by_name.find(holder.name);
    return cluster::fate_of(holder, found == nodes_->by_name.end() ? std::nullopt : std::optional(found->second));
}

/// As a list: the answer has the time, whether there is such a Node or not.
std::pair<NodeFate, std::int64_t> ClusterView::fate_now(const NodeMark& holder, const base::Deadline& deadline) {
    const auto found =
        list_nodes(fmt::format("?fieldSelector=metadata.name%3D{}", percent_encoded(holder.name)), deadline);
    return {cluster::fate_of(holder, found.empty() ? std::nullopt : std::optional(found.front())), date()};
}

/// Nearly all are there, which the server's memory says at a tenth of the cost. Only etcd says that one is not.
bool ClusterView::has_pod(const std::string& name_space, const std::string& name, const base::Deadline& deadline) {
    const std::string pods = fmt::format("/api/v1/namespaces/{}/pods", name_space);
    auto found = pods_.find(name_space);
    if (found == pods_.end()) {
        const auto names = requests_.list<std::string>(
            {.path = from(pods + "?includeObject=None", From::memory), .shape = kube::Shape::table}, deadline,
            [](const json::Reader& row) { return std::optional(row.at("cells").elements().at(0).string()); });
        found = pods_.emplace(name_space, std::set(names.begin(), names.end())).first;
    }
    return found->second.contains(name) || requests_.find(path_to(pods, name), deadline);
}

std::int64_t ClusterView::now(const base::Deadline& deadline) {
    (void)requests_.find(fmt::format("{}?limit=1", kAllNodes), deadline);
    return date();
}

std::int64_t ClusterView::date() const {
    if (const auto date = requests_.date()) return *date;
    throw ipam::StoreError(ipam::StoreError::Kind::permanent, "the API server does not say its time (Date)");
}

} // namespace rdmanet::cluster
