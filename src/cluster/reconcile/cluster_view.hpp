// Nodes and pods as the API server has them, as far as they say whether somebody still has an address.
#pragma once

#include "../blocks/objects.hpp"
#include "../requests.hpp"

#include <rdmanet/base/deadline.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace rdmanet::cluster {

/// What has become of the machine and the boot that have taken something.
enum class NodeFate : std::uint8_t {
    there,
    gone, // no Node is this machine
    over, // the machine has booted again
    off,  // the machine is marked as off
};
/// `node`: the one that may be this machine. While kubelet has not said which machine and boot it is, the holder is
/// there.
[[nodiscard]] NodeFate fate_of(const NodeMark& holder, const std::optional<NodeObject>& node);
/// "gone", "over", "off"
[[nodiscard]] const char* word_of(NodeFate fate);
/// As a sentence, for people.
[[nodiscard]] std::string describe(NodeFate fate, const NodeMark& holder);

/// All Nodes, and the pods of those namespaces that are asked for. What is judged by them must have been read before,
/// because whoever takes an address has a Node and a pod first. Throws ipam::StoreError.
class ClusterView {
public:
    explicit ClusterView(kube::Api& api) : requests_(api, "correct the server in the kubeconfig") {}

    /// They are read again when they are asked for.
    void forget();

    [[nodiscard]] NodeFate fate_of(const NodeMark& holder, const base::Deadline& deadline);
    /// As it is now, and the server's clock after that was read.
    [[nodiscard]] std::pair<NodeFate, std::int64_t> fate_now(const NodeMark& holder, const base::Deadline& deadline);
    [[nodiscard]] bool has_pod(const std::string& name_space, const std::string& name, const base::Deadline& deadline);
    /// The server's clock, in seconds since the epoch.
    [[nodiscard]] std::int64_t now(const base::Deadline& deadline);

private:
    [[nodiscard]] std::vector<NodeObject> list_nodes(const std::string& query, const base::Deadline& deadline);
    [[nodiscard]] std::int64_t date() const;

    struct Nodes {
        std::map<std::string, NodeObject> by_boot;
        std::map<std::string, NodeObject> by_name;
    };
    Requests requests_;
    std::optional<Nodes> nodes_;
    std::map<std::string, std::set<std::string>> pods_; // names by namespace, from the server's memory
};

} // namespace rdmanet::cluster
