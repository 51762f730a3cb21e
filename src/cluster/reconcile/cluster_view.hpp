// Pods and nodes as the API server has them, as far as they say who still needs an address.
#pragma once

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/cluster/reconcile.hpp>
#include <rdmanet/json/reader.hpp>
#include <rdmanet/kube/api.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace rdmanet::cluster {

/// Whoever has an address. Only rdmanet writes more than the pod's name, and only since there is room for it.
struct Holder {
    std::string pod_namespace;
    std::string pod_name;
    std::string pod_uid;
    std::string node_uid; // of the Node object
    std::string boot_id;  // of that node, when the pod was attached
    std::string node_name;

    [[nodiscard]] std::string podref() const { return pod_namespace + '/' + pod_name; }
};

/// "NAMESPACE/NAME" in two parts. nullopt for what is no name of a pod (apimachinery, validation.IsDNS1123Subdomain()).
[[nodiscard]] std::optional<Holder> holder_of(const std::string& podref);

struct Judgement {
    enum class Need : std::uint8_t {
        there,   // its pod is
        perhaps, // nobody can say that its pod is dead
        none,
    };
    Need need = Need::perhaps;
    std::string rule; // of `none`
    std::string why;  // of all but `there`
};

class ClusterView {
public:
    ClusterView(kube::Api& api, ReconcileOptions::UnknownNode unknown_node) : api_(api), unknown_node_(unknown_node) {}

    struct Pod {
        std::string uid;
        std::string hash; // of a static pod: its UID on its node; the API server knows its mirror, which has another
        std::string node_name;
        bool has_ended = false;
        bool is_torn_down = false; // its node has stopped its sandbox
    };
    struct Node {
        std::string name;
        std::string uid;
        std::string boot_id;
        bool is_ready = false;
    };
    // What the server has of them. Throw json::ValueError.
    [[nodiscard]] static Pod parse_pod(const json::Reader& object);
    [[nodiscard]] static Node parse_node(const json::Reader& object);

    /// Pods and nodes are listed anew when they are asked for. What is judged must have been read after this and before
    /// that: whoever has an address had a pod first.
    void forget();

    [[nodiscard]] Judgement judge(const Holder& holder, const base::Deadline& deadline);
    /// The same with its pod as it is now.
    [[nodiscard]] Judgement judge_anew(const Holder& holder, const base::Deadline& deadline);

    /// The Node of that name, or its absence, is from now on as it is now.
    void look_again_at_node(const std::string& name, const base::Deadline& deadline);
    /// No Node object has the UID, and none reports the boot.
    [[nodiscard]] bool is_node_gone(const std::string& uid, const std::string& boot_id, const base::Deadline& deadline);

    /// The server's clock. Seconds since the epoch.
    [[nodiscard]] std::int64_t now(const base::Deadline& deadline);

private:
    /// What is known of the node of a holder.
    struct Place {
        const Node* node = nullptr;
        bool is_gone = false; // else, without a node: unknown
    };

    void list_pods(const base::Deadline& deadline);
    [[nodiscard]] const Pod* find_pod(const Holder& holder, const base::Deadline& deadline);
    [[nodiscard]] const std::vector<Node>& nodes(const base::Deadline& deadline);
    [[nodiscard]] Place place_of(const Holder& holder, const Pod* pod, const base::Deadline& deadline);

    kube::Api& api_;
    ReconcileOptions::UnknownNode unknown_node_;
    std::optional<std::unordered_map<std::string, Pod>> pods_; // by namespace and name; once they are asked for
    std::optional<std::vector<Node>> nodes_;
};

} // namespace rdmanet::cluster
