#include "held.hpp"

#include <rdmanet/base/format.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace rdmanet::cluster {
namespace {

constexpr const char* kPool = "IPPool";
constexpr const char* kReservation = "OverlappingRangeIPReservation";

/// Reservations are named by network and address, a pool by network and range. Where ranges are cut into slices, a
/// pool's name also has the node's in it.
bool is_space_of(const std::string& reservation, const std::string& pool) {
    return reservation.empty() || reservation == pool || pool.starts_with(reservation + '-');
}

/// For each address and pod.
class Reservations {
public:
    explicit Reservations(std::vector<SeenReservation> all) : all_(std::move(all)) {
        for (std::size_t at = 0; at < all_.size(); ++at)
            if (all_[at].address) at_.emplace(std::pair(*all_[at].address, all_[at].podref), at);
    }

    [[nodiscard]] std::optional<SeenReservation> find(const std::string& space, const SeenRecord& record) {
        const auto [first, last] = at_.equal_range(std::pair(*record.address, record.podref));
        const auto found = std::find_if(first, last, [&](const auto& entry) {
            const SeenReservation& one = all_[entry.second];
            return is_space_of(one.space, space) && (record.ifname.empty() || one.ifname == record.ifname);
        });
        if (found == last) return std::nullopt;
        found_.insert(found->second);
        return all_[found->second];
    }
    /// Those that no find() has found.
    [[nodiscard]] std::vector<SeenReservation> take_others() {
        std::vector<SeenReservation> others;
        for (std::size_t at = 0; at < all_.size(); ++at)
            if (!found_.contains(at)) others.push_back(std::move(all_[at]));
        return others;
    }

private:
    std::vector<SeenReservation> all_;
    std::multimap<std::pair<base::IpAddress, std::string>, std::size_t> at_;
    std::set<std::size_t> found_;
};

void add_what_it_says(const SeenReservation& reservation, Holder& holder) {
    holder.pod_uid = reservation.pod_uid;
    holder.node_uid = reservation.node_uid;
    holder.boot_id = reservation.boot_id;
    holder.node_name = reservation.node;
}

Held held_of(const SeenPool& pool, const SeenRecord& record, Holder holder,
             std::optional<SeenReservation> reservation) {
    // whereabouts takes over a pod's record without a look at the reservation: what that says is of another container.
    if (reservation && reservation->container_id == record.container_id) add_what_it_says(*reservation, holder);
    return {.left = {.kind = kPool,
                     .object = pool.name,
                     .address = record.address->to_string(),
                     .pod = record.podref,
                     .ifname = record.ifname},
            .holder = std::move(holder),
            .identity = fmt::format("{} {} {} {}", kPool, pool.name, record.key, record.text),
            .what = HeldRecord{.pool = pool.name, .record = record, .reservation = std::move(reservation)}};
}

Held held_of(SeenReservation reservation, Holder holder) {
    add_what_it_says(reservation, holder);
    Left left{.kind = kReservation,
              .object = reservation.name,
              .address = reservation.address ? reservation.address->to_string() : "",
              .pod = reservation.podref,
              .ifname = reservation.ifname};
    std::string identity =
        fmt::format("{} {} {} {}", kReservation, reservation.name, reservation.uid, reservation.version);
    return {.left = std::move(left),
            .holder = std::move(holder),
            .identity = std::move(identity),
            .what = std::move(reservation)};
}

} // namespace

Inventory read_records(kube::Api& api, const base::Deadline& deadline) {
    Inventory inventory;
    Survey survey(api);
    const auto listed = survey.list_pools(deadline);
    inventory.pools = {.is_served = listed.has_value(), .count = listed ? listed->size() : 0};
    Reservations reservations(survey.list_reservations(deadline).value_or(std::vector<SeenReservation>{}));
    for (const SeenPool& pool : listed ? *listed : std::vector<SeenPool>{})
        for (const SeenRecord& record : pool.records) {
            if (!pool.trouble.empty() || !record.address) {
                ++inventory.unreadable;
                continue;
            }
            auto reservation = reservations.find(pool.space, record);
            auto holder = holder_of(record.podref);
            if (holder)
                inventory.held.push_back(held_of(pool, record, *std::move(holder), std::move(reservation)));
            else
                ++inventory.foreign;
        }
    for (SeenReservation& reservation : reservations.take_others()) {
        auto holder = holder_of(reservation.podref);
        if (!reservation.address)
            ++inventory.unreadable;
        else if (holder)
            inventory.held.push_back(held_of(std::move(reservation), *std::move(holder)));
        else
            ++inventory.foreign;
    }
    return inventory;
}

} // namespace rdmanet::cluster
