#include "reconciled.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>

#include <algorithm>
#include <map>
#include <utility>

namespace rdmanet::cluster {
namespace {

constexpr const char* kNamespaces = "/apis/whereabouts.cni.cncf.io/v1alpha1/namespaces";
constexpr int kPoolsAtOnce = 8; // a pool has up to 1.5 MB
// The server takes 10,000 operations in one patch (apiserver, handlers/patch.go, maxJSONPatchOperations), two for a
// record.
constexpr std::size_t kMostInPatch = 1000;

struct ListedPool {
    std::string name;
    std::string space; // the network's; with a node's behind it, where ranges are cut into slices
    Pool pool;
};

/// nullopt: its records can't be read.
std::optional<ListedPool> parse_listed_pool(const json::Reader& object) try {
    std::string name = object.at("metadata").at("name").string();
    const auto range = base::IpPrefix::parse(object.at("spec").at("range").string());
    if (!range) return std::nullopt;
    const std::string end = pool_name({.subnet = *range});
    if (name != end && !name.ends_with('-' + end)) return std::nullopt;
    std::string space = name == end ? "" : name.substr(0, name.size() - end.size() - 1);
    return ListedPool{.name = std::move(name), .space = std::move(space), .pool = parse_pool(object, 0, *range)};
} catch (const json::ValueError&) {
    return std::nullopt;
}

std::optional<NamedReservation> parse_named(const json::Reader& object) try {
    return NamedReservation{.name = object.at("metadata").at("name").string(), .content = parse_reservation(object)};
} catch (const json::ValueError&) {
    return std::nullopt;
}

class Reservations {
public:
    void add(NamedReservation one) { by_name_.insert_or_assign(one.name, std::move(one)); }

    /// The reservation of a pool's record is named by the network, and a slice's pool by the network and the node.
    [[nodiscard]] std::optional<NamedReservation> take(std::string space, const PoolRecord& record) {
        for (;;) {
            const auto found = by_name_.find(reservation_name(space, record.address));
            if (found != by_name_.end() && found->second.content.podref == record.podref &&
                (record.ifname.empty() || found->second.content.ifname == record.ifname))
                return std::move(by_name_.extract(found).mapped());
            if (space.empty()) return std::nullopt;
            const auto dash = space.rfind('-');
            space.resize(dash == std::string::npos ? 0 : dash);
        }
    }
    [[nodiscard]] std::map<std::string, NamedReservation> take_others() { return std::move(by_name_); }

private:
    std::map<std::string, NamedReservation> by_name_;
};

/// Empty: it is freed.
const char* why_kept(Written written) {
    if (written == Written::yes) return "";
    return written == Written::no ? "somebody else has changed it meanwhile"
                                  : "no answer says whether it was changed: run this again";
}

/// False for what is no name of a pod.
bool read_podref(const std::string& podref, PoolLease& lease) {
    const auto slash = podref.find('/');
    if (slash == std::string::npos) return false;
    lease.pod_namespace = podref.substr(0, slash);
    lease.pod_name = podref.substr(slash + 1);
    return base::is_name_of_object(lease.pod_namespace) && base::is_name_of_object(lease.pod_name);
}

} // namespace

std::string PoolLease::identity() const {
    return fmt::format("{} {} {} {}", left.object, record ? record->key : "", record ? record->text : "",
                       reservation ? reservation->content.uid + ' ' + reservation->content.version : "");
}

ReconciledPools::ReconciledPools(kube::Api& api, std::string name_space)
    : requests_(api, "install whereabouts' CustomResourceDefinitions"), api_(api, name_space),
      path_(fmt::format("{}/{}", kNamespaces, name_space)) {}

PoolLeases ReconciledPools::list(const base::Deadline& deadline) {
    PoolLeases all;
    const auto add = [&](PoolLease lease, const std::string& podref) {
        if (read_podref(podref, lease))
            all.leases.push_back(std::move(lease));
        else
            ++all.foreign;
    };
    using Parsed = std::optional<ListedPool>;
    const auto pools = requests_.list_if_served<Parsed>(
        {.path = fmt::format("{}/ippools", path_), .page = kPoolsAtOnce}, deadline,
        [](const json::Reader& object) { return std::optional(parse_listed_pool(object)); });
    all.pools = {.is_served = pools.has_value(), .count = pools ? pools->size() : 0};
    if (!pools) return all;
    Reservations reservations;
    for (auto& one : requests_
                         .list_if_served<std::optional<NamedReservation>>(
                             {.path = fmt::format("{}/overlappingrangeipreservations", path_)}, deadline,
                             [](const json::Reader& object) { return std::optional(parse_named(object)); })
                         .value_or(std::vector<std::optional<NamedReservation>>()))
        if (one)
            reservations.add(*std::move(one));
        else
            ++all.unreadable;
    for (const Parsed& listed : *pools) {
        if (!listed) {
            ++all.unreadable;
            continue;
        }
        all.unreadable += listed->pool.unreadable.size();
        for (const PoolRecord& record : listed->pool.records) {
            PoolLease lease{.left = {.kind = "IPPool",
                                     .object = listed->name,
                                     .address = record.address.to_string(),
                                     .pod = record.podref,
                                     .ifname = record.ifname},
                            .record = record,
                            .reservation = reservations.take(listed->space, record)};
            // whereabouts takes over a pod's record without a look at the reservation: what that says is of another
            // container.
            if (lease.reservation && lease.reservation->content.container_id == record.id)
                lease.holder = lease.reservation->content.maker;
            add(std::move(lease), record.podref);
        }
    }
    for (auto& [name, other] : reservations.take_others()) {
        const auto& address = other.content.address;
        PoolLease lease{.left = {.kind = "OverlappingRangeIPReservation",
                                 .object = name,
                                 .address = address ? address->to_string() : name,
                                 .pod = other.content.podref,
                                 .ifname = other.content.ifname},
                        .holder = other.content.maker,
                        .reservation = other};
        add(std::move(lease), other.content.podref);
    }
    return all;
}

void ReconciledPools::free(std::vector<PoolLease> leases, const Tell& tell, const base::Deadline& deadline) {
    std::map<std::string, std::vector<PoolLease*>> by_pool;
    for (PoolLease& lease : leases) {
        if (lease.record) {
            by_pool[lease.left.object].push_back(&lease);
            continue;
        }
        tell(lease, unreserve(lease, deadline));
    }
    for (const auto& [pool, own] : by_pool)
        for (auto at = own.begin(); at != own.end();) {
            const auto end = at + std::min(own.end() - at, static_cast<std::ptrdiff_t>(kMostInPatch));
            free_records(pool, {at, end}, tell, deadline);
            at = end;
        }
}

/// The reservation goes first, as at DEL: what is left after a crash in between still is in the pool.
void ReconciledPools::free_records(const std::string& pool, std::vector<PoolLease*> leases, const Tell& tell,
                                   const base::Deadline& deadline) {
    const auto keep_if = [&](const auto& why_kept) {
        std::erase_if(leases, [&](PoolLease* lease) {
            const std::string why = why_kept(*lease);
            if (!why.empty()) tell(*lease, why);
            return !why.empty();
        });
    };
    keep_if([&](const PoolLease& lease) { return lease.reservation ? unreserve(lease, deadline) : std::string(); });
    while (!leases.empty()) {
        std::vector<const PoolRecord*> records;
        records.reserve(leases.size());
        for (const PoolLease* lease : leases) records.push_back(&*lease->record);
        const Written written = api_.give_back(pool, records, deadline);
        if (written != Written::no) {
            for (PoolLease* lease : leases) tell(*lease, why_kept(written));
            return;
        }
        std::string refusal = api_.last_refusal();
        const auto object = requests_.find(fmt::format("{}/ippools/{}", path_, percent_encoded(pool)), deadline);
        const auto now = object ? parse_listed_pool(object->content.root()) : std::nullopt;
        const std::size_t before = leases.size();
        keep_if([&](const PoolLease& lease) -> std::string {
            const PoolRecord* record = now ? now->pool.find(lease.record->address) : nullptr;
            if (record == nullptr) return why_kept(Written::no);
            if (record->key == lease.record->key && record->text == lease.record->text) return {};
            return restore(lease, *record, deadline);
        });
        if (leases.size() == before) keep_if([&](const PoolLease&) -> std::string { return refusal; });
    }
}

std::string ReconciledPools::unreserve(const PoolLease& lease, const base::Deadline& deadline) {
    return why_kept(api_.unreserve(lease.reservation->name, lease.reservation->content, deadline));
}

/// A successor of the pod may have taken over the record meanwhile, and have seen the reservation, which names a pod
/// of its name: whereabouts makes no other then. Without one, another range could give the address.
std::string ReconciledPools::restore(const PoolLease& lease, const PoolRecord& now, const base::Deadline& deadline) {
    if (!lease.reservation || now.podref != lease.record->podref) return why_kept(Written::no);
    const std::string& name = lease.reservation->name;
    (void)api_.reserve(name, now.podref, now.ifname, deadline);
    const auto other = api_.find_reservation(name, deadline);
    if (!other || other->podref == now.podref) return why_kept(Written::no);
    return fmt::format(
        "whereabouts has given it to another container of pod {}, and pod {} has got the address by another "
        "range: delete the pod that was made later",
        now.podref, other->podref);
}

} // namespace rdmanet::cluster
