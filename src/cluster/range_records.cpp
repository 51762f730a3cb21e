#include "range_records.hpp"

#include "blocks/range_pools.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/http/pause.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

namespace rdmanet::cluster {
namespace {

using base::IpPrefix;
using ipam::StoreError;

constexpr int kMostRounds = 5;
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

[[noreturn]] void refuse_overlap(const RangeObject& range, const RangeObject& other) {
    throw StoreError(StoreError::Kind::permanent,
                     fmt::format("range {} overlaps range {}, which the cluster has as AddressRange {}, in store "
                                 "\"{}\": use the same range and store, or give one of the networks a \"network_name\"",
                                 range.subnet, other.subnet, other.name(), other.store));
}

} // namespace

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

void require_not_half_moved(const RangeObject& recorded) {
    if (!recorded.is_half_moved()) return;
    throw StoreError(
        StoreError::Kind::permanent,
        fmt::format("range {}: AddressRange {} says {}, because an earlier version of rdmanet was to move it "
                    "to another store and has not come to an end, so no store gives its addresses: delete "
                    "that AddressRange after the pods of the range and its AddressBlocks are gone, and the "
                    "next ADD records the range anew",
                    recorded.subnet, recorded.name(), recorded.half_moved));
}

void require_same_store(const RangeObject& recorded, const RangeObject& wanted) {
    require_not_half_moved(recorded);
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
    return !range.is_confirmed && !range.is_half_moved() && range.created != 0 && age > kAbandoned.count();
}

void RangeRecords::require_usable(const RangeObject& range, const RangeObject& wanted) {
    require_same_store(range, wanted);
    if (!range.is_going) return;
    throw StoreError(
        StoreError::Kind::temporary,
        fmt::format("range {}: somebody has deleted AddressRange {}, which goes with its last block: delete "
                    "the pods of the range, then run `rdmanet gc` on each node",
                    range.subnet, range.name()));
}

std::optional<RangeObject> RangeRecords::find_in_other_space(const std::string& space, const IpPrefix& subnet,
                                                             const base::Deadline& deadline) {
    const auto network_of = [](const std::string& one) { return one.substr(0, one.find('@')); };
    for (RangeObject& range : api_.list_all_ranges(deadline))
        if (range.space != space && network_of(range.space) == network_of(space) &&
            (range.store != kInPools || range.is_half_moved()) && has_addresses_of(range, subnet) &&
            !is_abandoned(range))
            return std::move(range);
    return std::nullopt;
}

void RangeRecords::require_in_no_other_store(const RangeObject& range, const base::Deadline& deadline) {
    if (range.store != kInPools) RangePools(api_, range).take(deadline);
    try {
        require_no_other_blocks(range, deadline);
    } catch (const MissingKind&) { // nobody can have blocks
    }
}

/// Somebody has deleted the record of a range before its blocks. Their nodes know the range, and give addresses.
void RangeRecords::require_no_other_blocks(const RangeObject& range, const base::Deadline& deadline) {
    const std::vector<std::string> foreign = api_.list_foreign_blocks(range, deadline);
    if (foreign.empty()) return;
    throw StoreError(StoreError::Kind::permanent,
                     fmt::format("range {}: AddressBlock {} has addresses of it{}, and is no block of what is to be "
                                 "recorded now: delete the pods of the earlier range, then its AddressBlocks",
                                 range.subnet, foreign.front(),
                                 foreign.size() == 1 ? "" : fmt::format(", as {} others have", foreign.size() - 1)));
}

void RangeRecords::require_no_overlap(const RangeObject& range, const base::Deadline& deadline) {
    for (const RangeObject& other : api_.list_ranges(range.space, deadline))
        if ((other.is_confirmed || other.is_half_moved()) && overlap(other.subnet, range.subnet) &&
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

/// Throws if another range keeps this one away.
void RangeRecords::settle_overlaps(const RangeObject& self, const std::vector<RangeObject>& all, bool is_ours,
                                   const base::Deadline& deadline) {
    for (const RangeObject& other : all) {
        if (other.subnet == self.subnet || !overlap(other.subnet, self.subnet) || may_overlap(other, self)) continue;
        if (is_abandoned(other) && api_.remove(other, deadline).done == WriteOutcome::Done::yes) continue;
        const bool is_new = !other.is_confirmed && !other.is_half_moved();
        if (is_new && is_earlier(self.version, other.version)) continue; // it withdraws
        if (is_ours) (void)api_.remove(self, deadline);
        refuse_overlap(self, other);
    }
}

/// Two nodes may create ranges that overlap at the same time. Each looks after it has created its own, and goes on only
/// if no other one is confirmed or older. The confirmation tests that the range is still as it was in that look, so of
/// two looks that each saw the other range unconfirmed and younger, one is out of date and has to be repeated.
RangeObject RangeRecords::confirmed(const Made& made, const base::Deadline& deadline) {
    const RangeObject& range = made.range;
    for (int attempt = 0; attempt < kMostRounds; ++attempt) {
        std::vector<RangeObject> all = api_.list_ranges(range.space, deadline);
        const auto self =
            std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.subnet == range.subnet; });
        if (self == all.end()) break;
        require_same_store(*self, range);
        if (self->is_confirmed) return std::move(*self);
        settle_overlaps(*self, all, made.is_ours, deadline);
        try {
            require_in_no_other_store(*self, deadline);
        } catch (const StoreError&) {
            if (made.is_ours) (void)api_.remove(*self, deadline);
            throw;
        }
        self->is_confirmed = true;
        if (api_.confirm(*self, deadline).done == WriteOutcome::Done::yes) return std::move(*self);
    }
    throw StoreError(StoreError::Kind::temporary,
                     fmt::format("lease store: other nodes change AddressRange {}: try again", range.name()));
}

} // namespace rdmanet::cluster
