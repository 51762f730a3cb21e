#include "range_records.hpp"

#include "blocks/range_pools.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/http/pause.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

namespace rdmanet::cluster {
namespace {

using base::IpPrefix;
using ipam::Interval;
using ipam::StoreError;

constexpr int kMostRounds = 5;
constexpr int kMostWrites = 10;
// Between the creation of an object and its confirmation is a few requests' time.
constexpr std::chrono::seconds kAbandoned{60};
// How long a node leaves a new object to its maker, before it does the maker's work: half of it to all of it.
constexpr std::chrono::milliseconds kPatience{10000};
constexpr std::chrono::milliseconds kFirstLook{50};
constexpr std::chrono::milliseconds kLongestLook{1000};

/// whereabouts' reservations keep an address from being given by two pools of one space. Nothing does that for blocks.
bool may_overlap(const RangeObject& a, const RangeObject& b) {
    return a.store == kInPools && b.store == kInPools;
}

/// Of two versions of one etcd, which are decimal numbers (Kubernetes API concepts, "Resource versions").
bool is_earlier(const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
}

Interval common_part(const IpPrefix& a, const IpPrefix& b) {
    return {std::max(a.network().value(), b.network().value()), std::min(a.last().value(), b.last().value())};
}

[[noreturn]] void refuse_overlap(const RangeObject& range, const RangeObject& other) {
    throw StoreError(StoreError::Kind::permanent,
                     fmt::format("range {} overlaps range {}, which the cluster has as AddressRange {}, in store "
                                 "\"{}\": use the same range and store, or give one of the networks a \"network_name\"",
                                 range.subnet, other.subnet, other.name(), other.store));
}

} // namespace

void refuse_old_kind(const RangeObject& range) {
    throw StoreError(StoreError::Kind::permanent,
                     fmt::format("lease store: the API server does not keep \"held\" of AddressRange {}: apply "
                                 "conf-examples/cluster-blocks.yaml of this version of rdmanet",
                                 range.name()));
}

bool has_addresses_of(const RangeObject& range, const IpPrefix& subnet_of_pool) {
    const bool is_unique_in_range = range.space.find('@') != std::string::npos;
    return is_unique_in_range ? subnet_of_pool == range.subnet : overlap(subnet_of_pool, range.subnet);
}

void refuse_difference(const RangeObject& recorded, std::string_view key, const std::string& configured,
                       const std::string& has) {
    throw StoreError(StoreError::Kind::permanent,
                     fmt::format("range {}: this network has \"{}\" {}, and AddressRange {} of the cluster has {}: use "
                                 "that, or a range of its own",
                                 recorded.subnet, key, configured, recorded.name(), has));
}

void require_same_store(const RangeObject& recorded, const RangeObject& wanted) {
    if (recorded.store != wanted.store) refuse_difference(recorded, "store", wanted.store, recorded.store);
}

void require_same_cut(const RangeObject& recorded, std::optional<unsigned> block_size,
                      const std::optional<IpPrefix>& requestable) {
    const auto text_of = [](const std::optional<IpPrefix>& prefix) { return prefix ? prefix->to_string() : "none"; };
    if (block_size && *block_size != recorded.block_size)
        refuse_difference(recorded, "blockSize", fmt::format("{}", *block_size),
                          fmt::format("{}", recorded.block_size));
    if (requestable && requestable != recorded.requestable)
        refuse_difference(recorded, "requestable", text_of(requestable), text_of(recorded.requestable));
}

std::optional<IpPrefix> requestable_in(const IpPrefix& subnet, const std::vector<IpPrefix>& requestable) {
    for (const IpPrefix& prefix : requestable)
        if (subnet.contains(prefix.address())) return IpPrefix::make(prefix.network(), prefix.length());
    return std::nullopt;
}

RangeObject RangeRecords::record(const RangeObject& wanted, const base::Deadline& deadline) {
    auto recorded = api_.find_range(wanted.name(), deadline);
    if (recorded && is_abandoned(*recorded) && recorded->store != wanted.store) {
        (void)api_.remove(*recorded, deadline);
        recorded.reset();
    }
    Made made = recorded ? Made{.range = *std::move(recorded)} : make(wanted, deadline);
    require_usable(made.range, wanted);
    const bool is_anothers = !made.is_ours && made.range.recorded_by != wanted.recorded_by;
    if (is_anothers && !made.range.is_confirmed) {
        if (!await_confirmation(made.range, deadline)) made = make(wanted, deadline);
        require_usable(made.range, wanted);
    }
    if (made.range.is_confirmed) return std::move(made.range);
    return confirmed(made, deadline);
}

/// What has to be looked at before a range is confirmed grows with the cluster, and many nodes may meet a new range at
/// the same moment. So its maker looks alone, for some time. False: the object is gone.
bool RangeRecords::await_confirmation(RangeObject& range, const base::Deadline& deadline) {
    const auto end = base::Deadline::in(std::min(http::with_jitter(kPatience), deadline.remaining() / 2));
    for (auto longest = kFirstLook; !range.is_confirmed && !end.passed();
         longest = std::min(longest * 2, kLongestLook)) {
        http::pause(std::min(http::with_jitter(longest), end.remaining()));
        auto recorded = api_.find_range(range.name(), deadline);
        if (!recorded) return false;
        range = *std::move(recorded);
    }
    return true;
}

/// Its maker was killed before it could confirm it. If not, the confirmation fails.
bool RangeRecords::is_abandoned(const RangeObject& range) const {
    const std::int64_t age = api_.date().value_or(0) - range.created;
    return !range.is_confirmed && !range.is_moving() && range.created != 0 && age > kAbandoned.count();
}

void RangeRecords::require_usable(const RangeObject& range, const RangeObject& wanted) {
    require_same_store(range, wanted);
    require_stays(range);
}

void require_stays(const RangeObject& range) {
    if (!range.is_going) return;
    throw StoreError(
        StoreError::Kind::temporary,
        fmt::format("range {}: somebody has deleted AddressRange {}, which goes with its last block: delete "
                    "the pods of the range, then run {}`rdmanet gc` on each node",
                    range.subnet, range.name(), range.is_moving() ? "`rdmanet ipam migrate` and " : ""));
}

std::optional<RangeObject> RangeRecords::find_in_other_space(const std::string& space, const IpPrefix& subnet,
                                                             const base::Deadline& deadline) {
    const auto network_of = [](const std::string& one) { return one.substr(0, one.find('@')); };
    for (RangeObject& range : api_.list_all_ranges(deadline))
        if (range.space != space && network_of(range.space) == network_of(space) &&
            (range.store != kInPools || range.is_moving()) && has_addresses_of(range, subnet) && !is_abandoned(range))
            return std::move(range);
    return std::nullopt;
}

OutsideStore* RangeRecords::find_outside(const std::string& store) const {
    const auto found =
        std::find_if(outside_.begin(), outside_.end(), [&](OutsideStore* one) { return one->name() == store; });
    return found == outside_.end() ? nullptr : *found;
}

bool RangeRecords::sees_all(const RangeObject& range) const {
    return std::all_of(range.from.begin(), range.from.end(), [&](const std::string& store) {
        return store == kInPools || store == kInBlocks || find_outside(store) != nullptr;
    });
}

void RangeRecords::require_sight(const RangeObject& range) const {
    if (sees_all(range)) return;
    throw StoreError(StoreError::Kind::temporary,
                     fmt::format("range {} comes from store \"{}\", and nothing is given before `rdmanet ipam migrate` "
                                 "has looked there: run it again, where it reaches that store",
                                 range.subnet, range.from_text()));
}

bool RangeRecords::reaches_store(const RangeObject& range) const {
    return range.store == kInPools || range.store == kInBlocks || find_outside(range.store) != nullptr;
}

/// What other stores have of the range. If this takes the range from them, they have learned that they give no more.
/// Unless it is moving, there must be nothing.
std::vector<Interval> RangeRecords::held_by_others(const RangeObject& range, Look look,
                                                   const base::Deadline& deadline) {
    std::vector<Interval> held;
    if (range.store != kInPools) {
        RangePools pools(api_, range);
        held = look == Look::takes ? pools.take(deadline) : pools.look(deadline);
    }
    std::vector<std::string> foreign;
    try {
        foreign = api_.list_foreign_blocks(range, deadline);
    } catch (const MissingKind&) { // nobody can have blocks
    }
    if (range.is_moving() && range.store != kInBlocks) {
        for (const std::string& name : foreign)
            if (const auto block = block_of_name(range.space, name)) held.push_back(common_part(*block, range.subnet));
    } else {
        require_no_other_blocks(range, foreign);
    }
    for (const std::string& store : range.from)
        if (OutsideStore* outside = find_outside(store)) {
            const std::vector<Interval> its = leases_outside(*outside, range, look, deadline);
            held.insert(held.end(), its.begin(), its.end());
        }
    return ipam::merged(std::move(held));
}

std::vector<Interval> RangeRecords::leases_outside(OutsideStore& outside, const RangeObject& range, Look look,
                                                   const base::Deadline& deadline) {
    const Moving now = moving(range, deadline);
    if (look == Look::takes) return outside.take(now, deadline);
    outside.require_range(now.place, now.object, deadline);
    std::vector<Interval> leases;
    for (const OutsideStore::Holder& holder : outside.describe(now.place, deadline))
        leases.insert(leases.end(), holder.addresses.begin(), holder.addresses.end());
    return leases;
}

Moving RangeRecords::moving(const RangeObject& range, const base::Deadline& deadline) {
    return {.place = {.space = range.space, .subnet = range.subnet},
            .object = range.name(),
            .from = range.from_text(),
            .to = range.store,
            .is_still_so = [this, &range, &deadline] {
                const auto now = api_.find_range(range.name(), deadline);
                return now && now->version == range.version;
            }};
}

void RangeRecords::leave_out(const RangeObject& range, const base::Deadline& deadline) {
    if (OutsideStore* to = find_outside(range.store)) to->leave_out(moving(range, deadline), range.held, deadline);
}

/// A change that has no answer is made again: it tests the version, so only one applies.
template <class Change>
RangeObject RangeRecords::write_until_done(RangeObject range, Change change, const base::Deadline& deadline) {
    for (int attempt = 0; attempt < kMostWrites; ++attempt) {
        std::optional<RangeObject> next = change(range);
        if (!next) return range;
        const WriteOutcome written = api_.write(*next, deadline);
        if (written.done == WriteOutcome::Done::yes) {
            next->version = written.version;
            next->is_going = written.is_going;
            return *std::move(next);
        }
        auto now = api_.find_range(range.name(), deadline);
        if (!now) break;
        range = *std::move(now);
    }
    throw StoreError(StoreError::Kind::temporary,
                     fmt::format("lease store: others change AddressRange {}: run this command again", range.name()));
}

RangeObject RangeRecords::begin(RangeObject range, const std::string& to,
                                const std::function<RangeObject(const RangeObject&)>& wanted,
                                const base::Deadline& deadline) {
    const auto moving = [&](const RangeObject& now) -> std::optional<RangeObject> {
        if (now.store == to) return std::nullopt;
        RangeObject next = wanted(now);
        next.moves = now.moves + 1;
        next.from.push_back(now.store);
        std::erase(next.from, to);
        std::sort(next.from.begin(), next.from.end());
        next.from.erase(std::unique(next.from.begin(), next.from.end()), next.from.end());
        next.held.clear();
        next.is_confirmed = false;
        return next;
    };
    return write_until_done(std::move(range), moving, deadline);
}

RangeObject RangeRecords::shrink(RangeObject range, const base::Deadline& deadline) {
    const std::string store = range.store;
    const auto smaller = [&](const RangeObject& now) -> std::optional<RangeObject> {
        if (now.store != store || !now.is_moving() || !now.is_confirmed || !sees_all(now)) return std::nullopt;
        RangeObject next = now;
        const std::vector<Interval> gone = ipam::difference(now.held, held_by_others(now, Look::takes, deadline));
        next.held = ipam::difference(now.held, gone);
        if (next.held.empty()) next.from.clear();
        return next.held == now.held && next.from == now.from ? std::nullopt : std::optional(std::move(next));
    };
    return write_until_done(std::move(range), smaller, deadline);
}

std::vector<Interval> RangeRecords::find_gone(const RangeObject& range, const base::Deadline& deadline) {
    return ipam::difference(range.held, held_by_others(range, Look::only_reads, deadline));
}

/// An outside store gives what has gone before the AddressRange says it: nobody looks again at one that holds nothing.
std::vector<Interval> RangeRecords::release_gone(const RangeObject& range, const base::Deadline& deadline) {
    const auto smaller = [&](const RangeObject& now) -> std::optional<RangeObject> {
        if (now.moves != range.moves || !now.is_moving() || !now.is_confirmed) return std::nullopt;
        const std::vector<Interval> gone = find_gone(now, deadline);
        if (gone.empty()) return std::nullopt;
        RangeObject next = now;
        next.held = ipam::difference(now.held, gone);
        leave_out(next, deadline);
        if (next.held.empty()) next.from.clear();
        return next;
    };
    const RangeObject now = write_until_done(range, smaller, deadline);
    return now.moves == range.moves && now.is_confirmed ? ipam::difference(range.held, now.held)
                                                        : std::vector<Interval>();
}

/// Somebody has deleted the record of a range before its blocks. Their nodes know the range, and give addresses.
void RangeRecords::require_no_other_blocks(const RangeObject& range, const std::vector<std::string>& foreign) {
    if (foreign.empty()) return;
    throw StoreError(StoreError::Kind::permanent,
                     fmt::format("range {}: AddressBlock {} has addresses of it{}, and is no block of what is to be "
                                 "recorded now: delete the pods of the earlier range, then its AddressBlocks",
                                 range.subnet, foreign.front(),
                                 foreign.size() == 1 ? "" : fmt::format(", as {} others have", foreign.size() - 1)));
}

void RangeRecords::require_no_overlap(const RangeObject& range, const base::Deadline& deadline) {
    for (const RangeObject& other : api_.list_ranges(range.space, deadline))
        if ((other.is_confirmed || other.is_moving()) && overlap(other.subnet, range.subnet) &&
            other.subnet != range.subnet && !may_overlap(other, range))
            refuse_overlap(range, other);
}

RangeRecords::Made RangeRecords::make(const RangeObject& wanted, const base::Deadline& deadline) {
    require_no_overlap(wanted, deadline);
    for (int attempt = 0; attempt < kMostRounds; ++attempt) {
        const WriteOutcome made = api_.create(wanted, deadline);
        if (made.done == WriteOutcome::Done::yes) {
            RangeObject range = wanted;
            range.version = made.version;
            range.uid = made.uid;
            return {.range = std::move(range), .is_ours = true};
        }
        // Whoever made it, the object says what holds.
        if (auto range = api_.find_range(wanted.name(), deadline)) return {.range = *std::move(range)};
    }
    throw StoreError(StoreError::Kind::temporary,
                     fmt::format("lease store: AddressRange {} was made and is gone each time: find out who deletes it",
                                 wanted.name()));
}

/// False: look again. Throws if another range keeps this one away.
bool RangeRecords::settle_overlaps(const RangeObject& self, const std::vector<RangeObject>& all, bool is_ours,
                                   const base::Deadline& deadline) {
    for (const RangeObject& other : all) {
        if (other.subnet == self.subnet || !overlap(other.subnet, self.subnet) || may_overlap(other, self)) continue;
        const bool is_new = !other.is_confirmed && !other.is_moving();
        // The maker of a new one may have looked while both were in pools, which may overlap. Then it does not withdraw.
        const bool has_to_go = is_new && self.is_moving();
        if (has_to_go || is_abandoned(other)) {
            if (api_.remove(other, deadline).done == WriteOutcome::Done::yes) continue;
            if (has_to_go) return false;
        }
        if (is_new && is_earlier(self.version, other.version)) continue; // it withdraws
        if (is_ours) (void)api_.remove(self, deadline);
        refuse_overlap(self, other);
    }
    return true;
}

/// Two nodes may create ranges that overlap at the same time. Each looks after it has created its own, and goes on only
/// if no other one is confirmed or older. The confirmation tests that the range is still as it was in that look, so of
/// two looks that each saw the other range unconfirmed and younger, one is out of date and has to be repeated. A range
/// that moves takes new ones away: the confirmation of one that is gone fails.
RangeObject RangeRecords::confirmed(const Made& made, const base::Deadline& deadline) {
    const RangeObject& range = made.range;
    std::optional<RangeObject> written; // with what was collected, and its version
    for (int attempt = 0; attempt < kMostRounds; ++attempt) {
        std::vector<RangeObject> all = api_.list_ranges(range.space, deadline);
        const auto self =
            std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.subnet == range.subnet; });
        if (self == all.end()) break;
        require_same_store(*self, range);
        if (self->is_confirmed) return std::move(*self);
        require_sight(*self);
        if (!settle_overlaps(*self, all, made.is_ours, deadline)) continue;
        if (!written || written->version != self->version) {
            RangeObject collected = *self;
            try {
                collected.held = held_by_others(*self, Look::takes, deadline);
            } catch (const StoreError&) {
                if (made.is_ours) (void)api_.remove(*self, deadline);
                throw;
            }
            if (!ipam::difference(collected.held, self->held).empty()) {
                const WriteOutcome outcome = api_.write(collected, deadline);
                if (outcome.done == WriteOutcome::Done::yes) {
                    collected.version = outcome.version;
                    written = std::move(collected);
                }
                continue; // the next look shows whether the server has kept it
            }
        } else if (!ipam::difference(written->held, self->held).empty()) {
            refuse_old_kind(*self);
        }
        // What comes to another store from now on is given to nobody: who makes a block sees that the range has moved,
        // and claims find the mark of their pool changed.
        leave_out(*self, deadline);
        if (confirm(*self, deadline)) return std::move(*self);
    }
    throw StoreError(StoreError::Kind::temporary,
                     fmt::format("lease store: other nodes change AddressRange {}: try again", range.name()));
}

bool RangeRecords::confirm(RangeObject& range, const base::Deadline& deadline) {
    range.is_confirmed = true;
    if (!range.is_moving()) return api_.confirm(range, deadline).done == WriteOutcome::Done::yes;
    if (range.held.empty()) range.from.clear();
    return api_.write(range, deadline).done == WriteOutcome::Done::yes;
}

} // namespace rdmanet::cluster
