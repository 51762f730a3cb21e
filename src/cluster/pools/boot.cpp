// What a reboot leaves in the cluster: the pods are gone, and their DEL may never come.
#include <rdmanet/cluster/pools_store.hpp>

#include "../blocks/blocks_api.hpp"
#include "claim.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/ipam/errors.hpp>

#include <optional>
#include <string>

namespace rdmanet::cluster {
namespace {

using ipam::StoreError;

/// Made by this machine, in an earlier boot. A name alone never counts.
bool is_left(const Reservation& reservation, const ThisNode& node) {
    const ThisNode& maker = reservation.maker;
    return is_same_machine(maker, node) && !maker.boot_id.empty() && maker.boot_id != node.boot_id &&
           reservation.container_id.has_value();
}

/// No record of the journal leads to these addresses. The reservation goes last, because it alone leads to the pool.
/// Both writes name the whole of what was seen. False: look again.
bool give_back_reserved(WhereaboutsApi& objects, const std::string& name, const Reservation& reservation,
                        const base::Deadline& deadline) {
    if (!reservation.place || !reservation.address) return true;
    const auto pool = objects.find_pool(*reservation.place, deadline);
    if (const PoolRecord* record = pool ? pool->find(*reservation.address) : nullptr) {
        // whereabouts has given the address to the pod's next container.
        if (record->podref != reservation.podref || !record->is_of(*reservation.container_id, reservation.ifname))
            return true;
        if (objects.give_back(*reservation.place, *record, deadline) != Written::yes) return false;
    }
    return objects.unreserve(name, reservation, deadline) != Written::unknown;
}

} // namespace

std::optional<std::string> WhereaboutsStore::give_back_earlier_boot(const base::Deadline& deadline) {
    const ThisNode& node = parts_->api.node();
    if (node.name.empty()) return "";
    parts_->pools.forget_all();
    // What this user may not look for is only a warning, and nullopt.
    const auto unless_refused = [&](const auto& look) -> std::optional<decltype(look())> {
        try {
            return look();
        } catch (const StoreError& error) {
            if (error.temporary()) throw;
            if (parts_->options.warn)
                parts_->options.warn(fmt::format(
                    "addresses that this node had before its reboot stay leased in the cluster: {}", error.what()));
            return std::nullopt;
        }
    };
    const auto object = unless_refused([&] {
        auto found = BlocksApi(parts_->server).find_node(node.name, From::etcd, deadline);
        if (found) return *std::move(found);
        throw StoreError(StoreError::Kind::permanent,
                         fmt::format("the cluster has no Node {}: set \"nodeName\" in the node's rdmanet.conf to the "
                                     "name of its Node object",
                                     node.name));
    });
    if (!object) return "";
    require_machine(*object, node.machine_id);
    if (object->boot_id != node.boot_id) return std::nullopt; // kubelet has not reported this boot yet
    ThisNode self = node;
    self.uid = object->uid;
    const auto made = unless_refused([&] { return parts_->api.recall_reservations(label_value(node.name), deadline); });
    if (!made) return self.uid;
    for (const auto& [name, reservation] : *made)
        if (is_left(reservation, self) &&
            (deadline.passed() || !give_back_reserved(parts_->api, name, reservation, deadline)))
            return std::nullopt;
    return self.uid;
}

} // namespace rdmanet::cluster
