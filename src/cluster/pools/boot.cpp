#include "boot.hpp"

#include "../blocks/objects.hpp"
#include "reserved.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/ipam/errors.hpp>

#include <map>
#include <utility>
#include <vector>

namespace rdmanet::cluster {
namespace {

using ipam::StoreError;

/// nullopt: the user may not read it, or there is none of that name. The warning says which.
std::optional<NodeObject> find_node(kube::Api& api, const ThisNode& node,
                                    const std::function<void(const std::string&)>& warn,
                                    const base::Deadline& deadline) try {
    const kube::Outcome outcome = api.get(fmt::format("/api/v1/nodes/{}", node.name), deadline);
    if (const auto* object = std::get_if<kube::Object>(&outcome)) return NodeObject::parse(object->content.root());
    const auto& refused = std::get<kube::Refused>(outcome);
    if (refused.may_have_been_done || refused.is_temporary())
        throw StoreError(StoreError::Kind::temporary, fmt::format("lease store: {}", refused.message));
    warn(fmt::format("addresses that this node had before its reboot stay leased in the cluster: {}: {}",
                     refused.message,
                     refused.why == kube::Refusal::not_found
                         ? "set \"nodeName\" in the node's rdmanet.conf to the name of its Node object"
                         : "grant the rights of conf-examples/cluster-rbac.yaml to the user of the kubeconfig"));
    return std::nullopt;
} catch (const http::TransportError& error) {
    throw StoreError(StoreError::Kind::unreachable, fmt::format("lease store: {}", error.what()));
} catch (const json::ValueError& error) {
    warn(fmt::format("Node {}: {}", node.name, error.what()));
    return std::nullopt;
}

/// Made by this machine, in an earlier boot. A name alone never counts.
bool is_left(const Reservation& reservation, const ThisNode& node) {
    const ThisNode& maker = reservation.maker;
    return is_same_machine(maker, node) && !maker.boot_id.empty() && maker.boot_id != node.boot_id &&
           reservation.container_id.has_value();
}

} // namespace

std::optional<std::string> give_back_earlier_boot(kube::Api& api, WhereaboutsApi& objects, const ThisNode& node,
                                                  const std::function<void(const std::string&)>& warn,
                                                  const base::Deadline& deadline) {
    if (node.name.empty()) return "";
    const auto object = find_node(api, node, warn, deadline);
    if (!object) return "";
    require_machine(*object, node.machine_id);
    if (object->boot_id != node.boot_id) return std::nullopt; // kubelet has not reported this boot yet
    ThisNode self = node;
    self.uid = object->uid;
    std::vector<std::pair<std::string, Reservation>> left;
    try {
        left = objects.recall_reservations(label_value(node.name), deadline);
    } catch (const StoreError& error) {
        if (error.temporary()) throw;
        warn(
            fmt::format("addresses that this node had before its reboot stay leased in the cluster: {}", error.what()));
        return self.uid;
    }
    for (const auto& [name, reservation] : left) {
        if (!is_left(reservation, self)) continue;
        if (deadline.passed() || !give_back_reserved(objects, name, reservation, deadline)) return std::nullopt;
    }
    return self.uid;
}

} // namespace rdmanet::cluster
