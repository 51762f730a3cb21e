// What the API server's Node object says about who is scheduled to this node.
#include "api_server.hpp"
#include "checks.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/ipam/config.hpp>
#include <rdmanet/json/reader.hpp>

#include <algorithm>
#include <optional>

namespace rdmanet::doctor {
namespace {

/// NVIDIA's network operator sets it to "true" for a node whose driver it is about to install, also after a new kernel.
/// Its device plugins run only where it is "false".
constexpr const char* kDriverLabel = "network.nvidia.com/operator.mofed.wait";

struct Taint {
    std::string key;
    std::string value;
    std::string effect;

    /// As `kubectl describe node` shows it.
    [[nodiscard]] std::string to_string() const {
        return value.empty() ? fmt::format("{}:{}", key, effect) : fmt::format("{}={}:{}", key, value, effect);
    }
};

/// The DaemonSet controller gives tolerations of these to all its pods (kubernetes, pkg/controller/daemon/util,
/// AddOrUpdateDaemonPodTolerations()); that of network-unavailable only to pods in the host's network, where device
/// plugins for RDMA run. PreferNoSchedule keeps nobody away.
bool keeps_daemons_away(const Taint& taint) {
    if (taint.effect != "NoSchedule" && taint.effect != "NoExecute") return false;
    const bool executes = taint.effect == "NoExecute";
    constexpr const char* kNoExecute[] = {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"};
    constexpr const char* kNoSchedule[] = {"node.kubernetes.io/disk-pressure", "node.kubernetes.io/memory-pressure",
                                           "node.kubernetes.io/network-unavailable", "node.kubernetes.io/pid-pressure",
                                           "node.kubernetes.io/unschedulable"};
    const auto is_key = [&](const char* key) { return taint.key == key; };
    return executes ? std::none_of(std::begin(kNoExecute), std::end(kNoExecute), is_key)
                    : std::none_of(std::begin(kNoSchedule), std::end(kNoSchedule), is_key);
}

std::vector<Taint> list_taints(const json::Reader& node) {
    std::vector<Taint> all;
    const auto spec = node.find("spec");
    const auto taints = spec ? spec->find("taints") : std::nullopt;
    if (!taints) return all;
    for (const json::Reader& taint : taints->elements()) {
        const auto value = taint.find("value");
        all.push_back({.key = taint.at("key").string(),
                       .value = value ? value->string() : std::string(),
                       .effect = taint.at("effect").string()});
    }
    return all;
}

bool waits_for_driver(const json::Reader& node) {
    const auto labels = node.at("metadata").find("labels");
    const auto label = labels ? labels->find(kDriverLabel) : std::nullopt;
    return label && label->string() == "true";
}

bool is_cordoned(const json::Reader& node) {
    const auto spec = node.find("spec");
    const auto unschedulable = spec ? spec->find("unschedulable") : std::nullopt;
    return unschedulable && unschedulable->boolean();
}

std::optional<json::Document> find_node(const Context& context, const std::string& name) {
    return context.api_server.get(fmt::format("/api/v1/nodes/{}", name));
}

/// The kubelet may register the node under another name than the host's (--hostname-override, or a cloud's).
void check_node_name(const Context& context, Findings& found) {
    const std::string name = context.api_server.node_name();
    if (find_node(context, name)) return;
    found.warning(name,
                  "the API server has no Node of this name: its labels and taints are not looked at, and metrics of "
                  "this node do not match the Node's",
                  fmt::format("set \"nodeName\" in {} to the name that `kubectl get nodes -o wide` shows for this node",
                              ipam::kNodeFile));
}

/// A taint is usual on nodes with GPUs. It is a likely cause only where resources are missing.
void check_taints(const Context& context, Findings& found) {
    const std::string name = context.api_server.node_name();
    const auto node = find_node(context, name);
    if (!node)
        throw base::Error(fmt::format("the API server has no Node {}: set \"nodeName\" in {} to the name that `kubectl "
                                      "get nodes` shows",
                                      name, ipam::kNodeFile));
    if (waits_for_driver(node->root()))
        found.warning(
            name,
            fmt::format("label {} is \"true\", so the network operator starts no device plugin here until its "
                        "driver pod is ready",
                        kDriverLabel),
            fmt::format("look for the driver's pod with `kubectl get pods -A -o wide --field-selector "
                        "spec.nodeName={}`; if a taint keeps it away, add a toleration to \"tolerations\" of "
                        "NicClusterPolicy",
                        name));
    const bool lacks_resources = found.has_warned("resources");
    for (const Taint& taint : list_taints(node->root())) {
        if (!keeps_daemons_away(taint)) continue;
        const std::string what =
            fmt::format("taint {} keeps pods without a toleration away, also those of device plugins", taint);
        const std::string fix = "if the device plugin shall run here, add a toleration to its DaemonSet (for NVIDIA's "
                                "network operator, to \"tolerations\" of NicClusterPolicy)";
        if (lacks_resources)
            found.warning(name, what, fix);
        else
            found.info(name, what, fix);
    }
    if (is_cordoned(node->root()))
        found.info(name, "it is cordoned, so no new pod is scheduled to it",
                   fmt::format("run `kubectl uncordon {}`", name));
}

constexpr Check kNodeObjectChecks[] = {
    {{"node-name", Layer::cluster, "the Node object of this node"}, check_node_name},
    {{"taints", Layer::cluster, "labels and taints of the Node object that keep device plugins away"}, check_taints},
};

} // namespace

std::span<const Check> node_object_checks() {
    return kNodeObjectChecks;
}

} // namespace rdmanet::doctor
