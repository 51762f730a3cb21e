#include <rdmanet/ops/ipam_release.hpp>

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/logger.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/ops/ipam_faults.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

namespace rdmanet::ops {
namespace {

constexpr std::chrono::seconds kOneRelease{30};

base::Deadline release_deadline() {
    return base::Deadline::in(kOneRelease);
}

std::string holder_text(const std::string& pod, const std::string& container_id, const std::string& ifname) {
    return fmt::format("pod {}, container {}, interface {}", base::quoted(pod), base::quoted(container_id),
                       base::quoted(ifname));
}

class ReleaseFinder {
public:
    ReleaseFinder(const ReleaseTarget& target, const IpamSurvey& survey, const LeasePlaces& places,
                  IpamClients& clients)
        : target_(target), survey_(survey), places_(places), clients_(clients) {}

    std::vector<Releasable> run() && {
        add_reservations();
        add_records();
        if (target_.node.empty())
            add_etcd();
        else if (clients_.has_etcd())
            add_etcd_nodes();
        add_node();
        if (!target_.node.empty()) add_blocks();
        return std::move(found_);
    }

private:
    [[nodiscard]] bool is_meant(const std::optional<base::IpAddress>& address, const std::string& pod,
                                const std::string& node) const {
        if (target_.address) return address == target_.address;
        if (!target_.pod.empty()) return pod == target_.pod;
        return node == target_.node;
    }

    /// Why a lease must stay, by this node's journal and by what the cluster says of its pod.
    [[nodiscard]] std::string why_held(const std::string& container_id, const std::string& ifname,
                                       const std::string& pod, const std::optional<base::IpAddress>& address) const {
        for (const attach::LeaseHolder& holder : survey_.holders) {
            if (holder.container_id != container_id || (!ifname.empty() && holder.ifname != ifname)) continue;
            if (holder.owes) return "this node gives it back by itself: run `rdmanet gc`";
            if (holder.pod == ipam::Liveness::alive) return "its pod is alive on this node: delete the pod";
            if (holder.has_record)
                return fmt::format("this node has a record of it: run `rdmanet gc`, or `rdmanet gc --forget {} {}`",
                                   holder.container_id, holder.ifname);
        }
        return uses(pod, address) ? std::string("its pod exists and has the address: delete the pod") : std::string();
    }

    [[nodiscard]] bool uses(const std::string& pod, const std::optional<base::IpAddress>& address) const {
        if (!survey_.pods || !address) return false;
        const auto is_it = [&](const cluster::SeenPod& each) {
            return each.name == pod && std::any_of(each.addresses.begin(), each.addresses.end(),
                                                   [&](const auto& its) { return its.address == *address; });
        };
        return std::any_of(survey_.pods->begin(), survey_.pods->end(), is_it);
    }

    [[nodiscard]] const cluster::SeenReservation* reservation_of(const cluster::SeenPool& pool,
                                                                 const cluster::SeenRecord& record) const {
        const auto found =
            std::find_if(survey_.reservations.begin(), survey_.reservations.end(), [&](const auto& reservation) {
                return record.address && reservation.space == pool.space && reservation.address == record.address;
            });
        return found == survey_.reservations.end() ? nullptr : &*found;
    }

    /// Before the record that leads to it: what is interrupted is still found by the record.
    void add_reservations() {
        for (const cluster::SeenReservation& each : survey_.reservations)
            if (is_meant(each.address, each.podref, each.node))
                found_.push_back(
                    {.what = fmt::format("{}: {}", about(each),
                                         holder_text(each.podref, each.container_id.value_or(""), each.ifname)),
                     .refused = why_held(each.container_id.value_or(""), each.ifname, each.podref, each.address),
                     .release = [&clients = clients_, &each] {
                         return cluster::Survey(clients.kube()).remove(each, release_deadline());
                     }});
    }

    void add_records() {
        for (const cluster::SeenPool& pool : survey_.pools)
            for (const cluster::SeenRecord& record : pool.records) {
                const cluster::SeenReservation* reservation = reservation_of(pool, record);
                if (!is_meant(record.address, record.podref, reservation == nullptr ? "" : reservation->node)) continue;
                found_.push_back(
                    {.what = fmt::format("{}: {}", about(pool, record),
                                         holder_text(record.podref, record.container_id, record.ifname)),
                     .refused = why_held(record.container_id, record.ifname, record.podref, record.address),
                     .release = [&clients = clients_, &pool, &record] {
                         return cluster::Survey(clients.kube()).remove(pool, record, release_deadline());
                     }});
            }
    }

    void add_etcd() {
        for (const cluster::SeenEtcdLease& seen : survey_.etcd) {
            if (!seen.lease) continue;
            const ipam::Owner& owner = seen.lease->owner;
            const std::string pod = base::scoped_name(owner.pod_namespace, owner.pod_name);
            if (!is_meant(seen.lease->address.address(), pod, seen.node)) continue;
            found_.push_back(
                {.what =
                     fmt::format("{}: {}, node {}", about(seen),
                                 holder_text(pod, owner.key.container_id, owner.key.ifname), base::quoted(seen.node)),
                 .refused = why_held(owner.key.container_id, owner.key.ifname, pod, seen.lease->address.address()),
                 .release = [&clients = clients_, &seen] { return clients.etcd().remove(seen, release_deadline()); }});
        }
    }

    /// A node of etcd goes as a whole: what it claims meanwhile has no effect then.
    void add_etcd_nodes() {
        for (const cluster::EtcdNodeState& node : clients_.etcd_nodes().list(survey_deadline()))
            if (node.name == target_.node && !(node.leases.empty() && node.boot_id.empty()))
                found_.push_back({.what = fmt::format("{} of node {} in etcd, machine id {}",
                                                      base::counted(node.leases.size(), "lease", "leases"),
                                                      base::quoted(node.name), node.machine_id),
                                  .refused = why_kept(node),
                                  .release = [&clients = clients_, machine_id = node.machine_id, name = node.name] {
                                      clients.etcd_nodes().release(
                                          machine_id, name, [](const ipam::Lease&) {}, survey_deadline());
                                      return true;
                                  }});
    }

    [[nodiscard]] std::string why_kept(const cluster::EtcdNodeState& node) const {
        for (const ipam::Lease& lease : node.leases) {
            const ipam::Owner& owner = lease.owner;
            const std::string why =
                why_held(owner.key.container_id, owner.key.ifname,
                         base::scoped_name(owner.pod_namespace, owner.pod_name), lease.address.address());
            if (!why.empty()) return fmt::format("{}: {}", lease.address.address(), why);
        }
        if (!survey_.nodes || node.boot_id.empty()) return {};
        for (const cluster::SeenNode& each : *survey_.nodes)
            if (each.boot_id == node.boot_id)
                return fmt::format("Node {} exists: if the machine is off for good, delete the Node object first",
                                   base::quoted(each.name));
        return {};
    }

    void add_node() {
        if (!survey_.node) return;
        for (const auto* leases : {&survey_.node->own, &survey_.node->in_blocks})
            for (const ipam::Lease& lease : *leases) {
                const std::string pod = base::scoped_name(lease.owner.pod_namespace, lease.owner.pod_name);
                if (!is_meant(lease.address.address(), pod, survey_.node_name)) continue;
                found_.push_back(
                    {.what = fmt::format("{} on this node: {}", lease.address, lease.owner.to_string()),
                     .refused =
                         why_held(lease.owner.key.container_id, lease.owner.key.ifname, pod, lease.address.address()),
                     .release = [&places = places_, &lease] {
                         const attach::Node node(places.state_directory, base::Logger(base::LogLevel::warning));
                         return attach::release_unrecorded(lease, node, release_deadline());
                     }});
            }
    }

    [[nodiscard]] std::string why_kept(const cluster::SeenBlock& block) const {
        if (!survey_.nodes) return "the nodes of the cluster can't be listed: give --kubeconfig of a user who may";
        for (const cluster::SeenNode& node : *survey_.nodes) {
            if (node.uid == block.node_uid)
                return fmt::format("Node {} exists: if the machine is off for good, delete the Node object first",
                                   base::quoted(node.name));
            if (!node.boot_id.empty() && node.boot_id == block.boot_id)
                return fmt::format("the machine runs, as Node {}: it goes on with the block", base::quoted(node.name));
        }
        return {};
    }

    void add_blocks() {
        for (const cluster::SeenBlock& block : survey_.blocks)
            if (block.node == target_.node && block.trouble.empty())
                found_.push_back({.what = fmt::format("{}: {} of node {}, {} in use when it was last written",
                                                      about(block), *block.block, base::quoted(block.node),
                                                      base::counted(block.in_use, "address", "addresses")),
                                  .refused = why_kept(block),
                                  .release = [&clients = clients_, &block] {
                                      return cluster::Survey(clients.kube()).remove(block, release_deadline());
                                  }});
    }

    const ReleaseTarget& target_;
    const IpamSurvey& survey_;
    const LeasePlaces& places_;
    IpamClients& clients_;
    std::vector<Releasable> found_;
};

} // namespace

std::vector<Releasable> find_releasable(const ReleaseTarget& target, const IpamSurvey& survey,
                                        const LeasePlaces& places, IpamClients& clients) {
    return ReleaseFinder(target, survey, places, clients).run();
}

} // namespace rdmanet::ops
