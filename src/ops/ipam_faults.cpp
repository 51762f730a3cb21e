#include <rdmanet/ops/ipam_faults.hpp>

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace rdmanet::ops {
namespace {

using base::IpAddress;
using cluster::SeenBlock;
using cluster::SeenPod;
using cluster::SeenPool;
using cluster::SeenRecord;
using cluster::SeenReservation;

constexpr const char* kRepair = "run `rdmanet ipam check --repair` on the pod's node, or delete the pod";
constexpr unsigned kLargePercent = 60; // ADD warns from there on

std::string or_nobody(const std::string& pod) {
    return pod.empty() ? "no pod" : fmt::format("pod {}", base::quoted(pod));
}

/// Whether the pool may be one of the space. Where ranges are cut in slices, its name also has a node's in it.
bool may_have(const std::string& space, const SeenPool& pool) {
    const std::string network = cluster::network_of(space);
    return network.empty() || pool.space == network || pool.space.starts_with(network + '-');
}

class FaultFinder {
public:
    explicit FaultFinder(const IpamSurvey& survey) : survey_(survey) {
        for (const attach::LeaseHolder& holder : survey.holders)
            if (holder.owes) owing_.emplace(holder.container_id, holder.ifname);
        if (!survey.pods) return;
        for (const SeenPod& pod : *survey.pods) pods_.emplace(pod.name, &pod);
    }

    std::vector<IpamFault> run() && {
        for (const SeenPool& pool : survey_.pools) look_at(pool);
        note_records();
        for (const SeenReservation& reservation : survey_.reservations) look_at(reservation);
        for (const cluster::IgnoredRange& range : survey_.ranges.ignored) add(Wrong::ignored, about(range), range.why);
        for (const SeenBlock& block : survey_.blocks) look_at(block);
        for (const attach::LeaseHolder& holder : survey_.holders)
            if (holder.pod == ipam::Liveness::dead && !holder.owes)
                add(Wrong::stale, holder.what, "its pod is dead: run `rdmanet gc`");
        if (survey_.node)
            for (const ipam::Block& own : survey_.node->blocks) look_at(own);
        if (survey_.pods) look_at_pods();
        return std::move(faults_);
    }

private:
    using Holder = std::pair<const SeenPool*, const SeenRecord*>;
    using Place = std::pair<std::string, IpAddress>; // space and address

    void add(Wrong wrong, std::string what, std::string text, std::string pod = {}) {
        faults_.push_back({.wrong = wrong, .about = std::move(what), .text = std::move(text), .pod = std::move(pod)});
    }

    /// Empty if the pod exists, if this node will give the address back, and if nobody knows.
    [[nodiscard]] std::string why_stale(const std::string& pod, const std::string& container_id,
                                        const std::string& ifname) const {
        if (!survey_.pods || pod.empty() || pods_.contains(pod) || owing_.contains({container_id, ifname})) return {};
        return fmt::format("pod {} does not exist: `rdmanet ipam release --pod {}`", base::quoted(pod), pod);
    }

    void look_at(const SeenPool& pool) {
        if (!pool.trouble.empty()) add(Wrong::unreadable, about(pool), pool.trouble);
        if (pool.percent() >= kLargePercent)
            add(Wrong::size, about(pool),
                fmt::format("its {} records are {} % of what the API server stores in one object: use several smaller "
                            "ranges, or declare the range with an AddressRange",
                            pool.records.size(), pool.percent()));
        look_for_several(pool);
        for (const SeenRecord& record : pool.records) {
            if (!record.trouble.empty()) add(Wrong::unreadable, about(pool, record), record.trouble);
            if (const std::string why = why_stale(record.podref, record.container_id, record.ifname); !why.empty())
                add(Wrong::stale, about(pool, record), why, record.podref);
            if (!record.address) continue;
            const auto [first, is_first] = holders_.emplace(Place{pool.space, *record.address}, Holder{&pool, &record});
            const auto& [other_pool, other] = first->second;
            if (!is_first && (other->podref != record.podref || other->ifname != record.ifname))
                add(Wrong::twice, about(pool, record),
                    fmt::format("{} has it in IPPool {}, and {} here: delete the pod that was made later",
                                or_nobody(other->podref), other_pool->name, or_nobody(record.podref)));
        }
    }

    void look_at(const SeenReservation& reservation) {
        if (!reservation.trouble.empty()) add(Wrong::unreadable, about(reservation), reservation.trouble);
        if (!reservation.address) return;
        const auto holder = holders_.find({reservation.space, *reservation.address});
        if (holder == holders_.end() && is_in_slice(reservation)) return;
        if (holder == holders_.end()) {
            const bool lives_here = is_held_here(reservation);
            if (lives_here || is_of_living(reservation))
                add(Wrong::missing, about(reservation),
                    fmt::format("{} lives, and no pool has the address: {}", or_nobody(reservation.podref), kRepair),
                    lives_here ? std::string() : reservation.podref);
            else
                add(Wrong::stale, about(reservation),
                    fmt::format("no pool has the address: `rdmanet ipam release --address {}`", *reservation.address));
            return;
        }
        const SeenRecord& record = *holder->second.second;
        if (!reservation.podref.empty() && !record.podref.empty() && reservation.podref != record.podref)
            add(Wrong::twice, about(reservation),
                fmt::format("it is for {}, and IPPool {} has the address for {}: delete the pod that was made later",
                            or_nobody(reservation.podref), holder->second.first->name, or_nobody(record.podref)));
    }

    void note_records() {
        for (const auto* pools : {&survey_.pools, &survey_.other_pools})
            for (const SeenPool& pool : *pools)
                for (const SeenRecord& record : pool.records)
                    if (record.address) records_.emplace(*record.address, Holder{&pool, &record});
    }

    /// A reservation has its network in its name, and a slice of a range also its node.
    [[nodiscard]] bool is_in_slice(const SeenReservation& reservation) const {
        const auto [first, last] = records_.equal_range(*reservation.address);
        return std::any_of(first, last, [&](const auto& entry) {
            const auto& [pool, record] = entry.second;
            return may_have(reservation.space, *pool) && record->podref == reservation.podref;
        });
    }

    /// One pod with several interfaces has an address for each, and records of whereabouts before 0.7 don't name them.
    void look_for_several(const SeenPool& pool) {
        std::map<std::pair<std::string, std::string>, std::vector<const SeenRecord*>> all;
        for (const SeenRecord& record : pool.records)
            if (record.address && pods_.contains(record.podref) && !record.ifname.empty())
                all[{record.podref, record.ifname}].push_back(&record);
        for (const auto& [owner, records] : all)
            for (const SeenRecord* record : records) {
                const auto& [pod, ifname] = owner;
                if (records.size() == 1 || uses(pod, *record->address)) continue;
                if (owing_.contains({record->container_id, ifname})) continue;
                add(Wrong::stale, about(pool, *record),
                    fmt::format("interface {} of pod {} has {} records in this pool and can use one: delete the pod, "
                                "then run `rdmanet ipam release --pod {}`",
                                base::quoted(ifname), base::quoted(pod), records.size(), pod));
            }
    }

    [[nodiscard]] bool is_held_here(const SeenReservation& reservation) const {
        return std::ranges::any_of(survey_.holders, [&](const attach::LeaseHolder& holder) {
            return holder.pod == ipam::Liveness::alive && !holder.owes &&
                   holder.container_id == reservation.container_id && holder.ifname == reservation.ifname;
        });
    }

    /// The status of a pod's networks comes after its last ADD, and a pod of the same name may have followed.
    [[nodiscard]] bool is_of_living(const SeenReservation& reservation) const {
        const auto found = pods_.find(reservation.podref);
        if (found == pods_.end()) return false;
        const SeenPod& pod = *found->second;
        const std::string& uid = reservation.pod_uid;
        if (!uid.empty() && uid != pod.uid && uid != pod.hash) return false;
        return pod.addresses.empty() || uses(pod.name, *reservation.address);
    }

    [[nodiscard]] bool uses(const std::string& pod, const IpAddress& address) const {
        const auto found = pods_.find(pod);
        if (found == pods_.end()) return false;
        const auto& its = found->second->addresses;
        return std::ranges::any_of(its, [&](const auto& each) { return each.address == address; });
    }

    void look_at(const SeenBlock& block) {
        if (!block.trouble.empty()) return add(Wrong::unreadable, about(block), block.trouble);
        if (!survey_.nodes) return;
        const auto is_its_node = [&](const cluster::SeenNode& node) {
            return node.uid == block.node_uid || (!node.boot_id.empty() && node.boot_id == block.boot_id);
        };
        if (std::ranges::none_of(*survey_.nodes, is_its_node))
            add(Wrong::stale, about(block),
                fmt::format("node {} is gone: `rdmanet ipam reconcile` frees the block when that has lasted for longer "
                            "than \"goneAfter\" of its range",
                            base::quoted(block.node)));
    }

    /// One of this node.
    void look_at(const ipam::Block& own) {
        if (own.leases == 0) return;
        const std::string what = fmt::format("block {} of this node", own.prefix);
        if (own.state == ipam::BlockState::lost)
            return add(
                Wrong::twice, what,
                fmt::format("the cluster has given it to node {}: delete {}", base::quoted(own.holder), pods_in(own)));
        if (own.state != ipam::BlockState::open || !survey_.seen.blocks) return;
        const auto object = std::ranges::find_if(survey_.blocks, [&](const SeenBlock& block) {
            return block.space == own.space && block.block == own.prefix;
        });
        if (object == survey_.blocks.end())
            add(Wrong::missing, what, fmt::format("the cluster has no AddressBlock for {}: {}", pods_in(own), kRepair));
        else if (object->uid != own.uid && object->node_uid != own.node_uid)
            add(Wrong::twice, what,
                fmt::format("AddressBlock {} belongs to node {}: delete {}", object->name, base::quoted(object->node),
                            pods_in(own)));
    }

    [[nodiscard]] std::string pods_in(const ipam::Block& own) const {
        std::vector<std::string> pods;
        for (const ipam::Lease& lease : survey_.node->in_blocks)
            if (lease.space == own.space && own.prefix.contains(lease.address.address()))
                pods.push_back(base::quoted(base::scoped_name(lease.owner.pod_namespace, lease.owner.pod_name)));
        std::ranges::sort(pods);
        pods.erase(std::unique(pods.begin(), pods.end()), pods.end());
        return fmt::format("pods {}", base::join(pods));
    }

    /// Addresses that pods have from one of the pools, as their networks' status says.
    void look_at_pods() {
        std::map<IpAddress, const SeenPod*> users;
        for (const SeenPod& pod : *survey_.pods) {
            if (pod.is_going) continue;
            for (const auto& [network, address] : pod.addresses) {
                const SeenPool* pool = survey_.networks.contains(network) ? only_pool_with(address) : nullptr;
                if (pool == nullptr) continue;
                const auto [first, is_first] = users.emplace(address, &pod);
                const std::string what = fmt::format("{} of pod {}", address, base::quoted(pod.name));
                if (!is_first && first->second != &pod)
                    add(Wrong::twice, what,
                        fmt::format("pod {} has the same address: delete one of them",
                                    base::quoted(first->second->name)),
                        pod.name);
                const auto holder = holders_.find({pool->space, address});
                if (holder == holders_.end() && may_be_in_block(*pool, address)) continue;
                if (holder == holders_.end())
                    add(Wrong::missing, what,
                        fmt::format("neither IPPool {} nor an AddressBlock has it, so another pod may get it: {}",
                                    pool->name, kRepair),
                        pod.name);
                else if (holder->second.second->podref != pod.name && is_first)
                    add(Wrong::twice, what,
                        fmt::format("IPPool {} has it for {}: delete the pod, so that it gets another one", pool->name,
                                    or_nobody(holder->second.second->podref)),
                        pod.name);
            }
        }
    }

    /// nullptr if there is none, and if pools of several spaces have the address: its network is not in the status.
    [[nodiscard]] const SeenPool* only_pool_with(const IpAddress& address) const {
        const SeenPool* found = nullptr;
        for (const SeenPool& pool : survey_.pools) {
            if (!pool.subnet || !pool.subnet->contains(address)) continue;
            if (found != nullptr && found->space != pool.space) return nullptr;
            if (found == nullptr || found->subnet->length() < pool.subnet->length()) found = &pool;
        }
        const bool is_of_others = found != nullptr && std::ranges::any_of(survey_.other_pools, [&](const auto& pool) {
                                      return pool.space != found->space && pool.subnet->contains(address);
                                  });
        return is_of_others ? nullptr : found;
    }

    /// Which addresses of a block are in use, only its node knows.
    [[nodiscard]] bool may_be_in_block(const SeenPool& pool, const IpAddress& address) const {
        return std::ranges::any_of(survey_.blocks, [&](const SeenBlock& block) {
            return block.block && block.block->contains(address) && may_have(block.space, pool);
        });
    }

    const IpamSurvey& survey_;
    std::set<std::pair<std::string, std::string>> owing_; // container and interface
    std::map<std::string, const SeenPod*> pods_;
    std::map<Place, Holder> holders_;
    std::multimap<IpAddress, Holder> records_; // of all pools, also of those that the network leaves out
    std::vector<IpamFault> faults_;
};

} // namespace

std::string_view to_string(Wrong wrong) {
    switch (wrong) {
    case Wrong::missing: return "missing";
    case Wrong::twice: return "double";
    case Wrong::stale: return "stale";
    case Wrong::unreadable: return "unreadable";
    case Wrong::ignored: return "ignored";
    case Wrong::size: return "size";
    case Wrong::differs: break;
    }
    return "differs";
}

std::string about(const SeenPool& pool) {
    return fmt::format("IPPool {}", pool.name);
}

std::string about(const SeenPool& pool, const SeenRecord& record) {
    if (record.address) return fmt::format("{} in IPPool {}", *record.address, pool.name);
    return fmt::format("key {} of IPPool {}", base::quoted(record.key), pool.name);
}

std::string about(const SeenReservation& reservation) {
    return fmt::format("OverlappingRangeIPReservation {}", reservation.name);
}

std::string about(const cluster::IgnoredRange& range) {
    return fmt::format("AddressRange {}", range.name);
}

std::string about(const SeenBlock& block) {
    return fmt::format("AddressBlock {}", block.name);
}

std::vector<IpamFault> find_faults(const IpamSurvey& survey) {
    return FaultFinder(survey).run();
}

} // namespace rdmanet::ops
