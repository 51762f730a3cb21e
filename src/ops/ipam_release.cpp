#include <rdmanet/ops/ipam_release.hpp>

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/logger.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/ops/ipam_faults.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
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

    std::vector<Releasable> run() {
        add_reservations();
        add_records();
        add_node();
        return std::exchange(found_, {});
    }

private:
    [[nodiscard]] bool is_meant(const std::optional<base::IpAddress>& address, const std::string& pod) const {
        return target_.address ? address == target_.address : pod == target_.pod;
    }

    /// Whoever has an address, as the lease says.
    struct User {
        std::string pod; // "NAMESPACE/NAME"
        std::string pod_uid;
        std::string container_id;
        std::string ifname;
    };

    static User user_of(const ipam::Owner& owner) {
        return {.pod = base::scoped_name(owner.pod_namespace, owner.pod_name),
                .pod_uid = owner.pod_uid,
                .container_id = owner.key.container_id,
                .ifname = owner.key.ifname};
    }

    /// Why a lease must stay, by this node's journal and by what the cluster says of its pod now.
    [[nodiscard]] std::string why_held(const User& user) const {
        for (const attach::LeaseHolder& holder : survey_.holders) {
            if (holder.container_id != user.container_id || (!user.ifname.empty() && holder.ifname != user.ifname))
                continue;
            if (holder.owes) return "this node gives it back by itself: run `rdmanet gc`";
            if (holder.pod == ipam::Liveness::alive) return "its pod is alive on this node: delete the pod";
            if (holder.has_record)
                return fmt::format("this node has a record of it: run `rdmanet gc`, or `rdmanet gc --forget {} {}`",
                                   holder.container_id, holder.ifname);
        }
        return has_pod(user) ? std::string("its pod exists: delete the pod") : std::string();
    }

    /// Whatever the pod's status says of its networks: Multus writes that only after the last ADD.
    [[nodiscard]] bool has_pod(const User& user) const {
        if (!clients_.has_kube()) return false;
        const auto pod = cluster::Survey(clients_.kube()).find_pod(user.pod, release_deadline());
        if (!pod || pod->has_ended) return false;
        return user.pod_uid.empty() || user.pod_uid == pod->uid || user.pod_uid == pod->hash;
    }

    /// A pod that is no longer in the API may still run on its node (`kubectl delete pod --force`).
    [[nodiscard]] std::string why_left_to_node(const cluster::SeenReservation& reservation) const {
        if (reservation.node.empty() || (survey_.node && reservation.node == survey_.node_name)) return {};
        return fmt::format("node {} holds it: run this command there; if the node is gone, run "
                           "`rdmanet ipam reconcile`",
                           base::quoted(reservation.node));
    }

    /// What whereabouts wrote names no container: the record of its address does.
    [[nodiscard]] std::string why_held(const cluster::SeenReservation& reservation) const {
        if (std::string why = why_left_to_node(reservation); !why.empty()) return why;
        for (const auto* pools : {&survey_.pools, &survey_.other_pools})
            for (const cluster::SeenPool& pool : *pools)
                for (const cluster::SeenRecord& record : pool.records)
                    if (record.address && record.address == reservation.address && record.podref == reservation.podref)
                        if (std::string why = why_held(user_of(record, nullptr)); !why.empty()) return why;
        return why_held({.pod = reservation.podref,
                         .pod_uid = reservation.pod_uid,
                         .container_id = reservation.container_id.value_or(""),
                         .ifname = reservation.ifname});
    }

    [[nodiscard]] std::string why_held(const cluster::SeenRecord& record,
                                       const cluster::SeenReservation* reservation) const {
        std::string why = reservation == nullptr ? std::string() : why_left_to_node(*reservation);
        return why.empty() ? why_held(user_of(record, reservation)) : why;
    }

    /// whereabouts takes over a pod's record without a look at the reservation: its UID may be that of another pod.
    static User user_of(const cluster::SeenRecord& record, const cluster::SeenReservation* reservation) {
        const bool is_same = reservation != nullptr && reservation->container_id == record.container_id;
        return {.pod = record.podref,
                .pod_uid = is_same ? reservation->pod_uid : "",
                .container_id = record.container_id,
                .ifname = record.ifname};
    }

    [[nodiscard]] const cluster::SeenReservation* reservation_of(const cluster::SeenPool& pool,
                                                                 const cluster::SeenRecord& record) const {
        const auto found = std::ranges::find_if(survey_.reservations, [&](const auto& reservation) {
            return record.address && reservation.space == pool.space && reservation.address == record.address;
        });
        return found == survey_.reservations.end() ? nullptr : &*found;
    }

    /// Before the record that leads to it: what is interrupted is still found by the record.
    void add_reservations() {
        for (const cluster::SeenReservation& each : survey_.reservations)
            if (is_meant(each.address, each.podref))
                found_.push_back(
                    {.what = fmt::format("{}: {}", about(each),
                                         holder_text(each.podref, each.container_id.value_or(""), each.ifname)),
                     .why_kept = [this, &each] { return why_held(each); },
                     .release = [&clients = clients_,
                                 &each] { return cluster::Survey(clients.kube()).remove(each, release_deadline()); }});
    }

    void add_records() {
        for (const cluster::SeenPool& pool : survey_.pools)
            for (const cluster::SeenRecord& record : pool.records) {
                const cluster::SeenReservation* reservation = reservation_of(pool, record);
                if (!is_meant(record.address, record.podref)) continue;
                found_.push_back(
                    {.what = fmt::format("{}: {}", about(pool, record),
                                         holder_text(record.podref, record.container_id, record.ifname)),
                     .why_kept = [this, &record, reservation] { return why_held(record, reservation); },
                     .release =
                         [&clients = clients_, &pool, &record] {
                             return cluster::Survey(clients.kube()).remove(pool, record, release_deadline());
                         }});
            }
    }

    void add_node() {
        if (!survey_.node) return;
        for (const auto* leases : {&survey_.node->own, &survey_.node->in_blocks})
            for (const ipam::Lease& lease : *leases) {
                const std::string pod = base::scoped_name(lease.owner.pod_namespace, lease.owner.pod_name);
                if (!is_meant(lease.address.address(), pod)) continue;
                found_.push_back({.what = fmt::format("{} on this node: {}", lease.address, lease.owner.to_string()),
                                  .why_kept = [this, &lease] { return why_held(user_of(lease.owner)); },
                                  .release =
                                      [&places = places_, &lease] {
                                          const attach::Node node(places.state_directory,
                                                                  base::Logger(base::LogLevel::warning));
                                          return attach::release_unrecorded(lease, node, release_deadline());
                                      }});
            }
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
    const auto finder = std::make_shared<ReleaseFinder>(target, survey, places, clients);
    std::vector<Releasable> found = finder->run();
    for (Releasable& each : found) each.why_kept = [finder, judge = std::move(each.why_kept)] { return judge(); };
    return found;
}

} // namespace rdmanet::ops
