#include "node_blocks.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/cluster/whereabouts_store.hpp>

#include <algorithm>
#include <utility>

namespace rdmanet::cluster {
namespace {

using base::IpAddress;
using base::IpPrefix;
using ipam::StoreError;

constexpr const char* kStore = "blocks";
constexpr int kMostRounds = 5;

IpPrefix subnet_of(const IpAddress& address, unsigned length) {
    const IpPrefix prefix = *IpPrefix::make(address, length);
    return *IpPrefix::make(prefix.network(), length);
}

bool overlap(const IpPrefix& a, const IpPrefix& b) {
    return a.contains(b.network()) || b.contains(a.network());
}

/// Of two versions of one etcd, which are decimal numbers (Kubernetes API concepts, "Resource versions").
bool is_earlier(const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
}

std::string text_of(const std::optional<IpPrefix>& prefix) {
    return prefix ? prefix->to_string() : "none";
}

} // namespace

/// Throws if the configuration of the network says something else than the cluster has recorded.
void NodeBlocks::require_agreement(const RangeObject& range) const {
    const auto differs = [&](std::string_view key, const std::string& configured, const std::string& recorded) {
        throw StoreError(StoreError::Kind::permanent,
                         fmt::format("range {}: this network has {} {}, and AddressRange {} of the cluster has {}: use "
                                     "that, or a range of its own",
                                     range.subnet, key, configured, range.name(), recorded));
    };
    if (range.store != kStore) differs("\"store\"", kStore, range.store);
    if (options_.block_size && *options_.block_size != range.block_size)
        differs("\"blockSize\"", fmt::format("{}", *options_.block_size), fmt::format("{}", range.block_size));
    const auto requestable = configured_requestable(range.subnet);
    if (requestable && requestable != range.requestable)
        differs("\"requestable\"", text_of(requestable), text_of(range.requestable));
}

std::optional<IpPrefix> NodeBlocks::configured_requestable(const IpPrefix& subnet) const {
    for (const IpPrefix& prefix : options_.requestable)
        if (subnet.contains(prefix.address())) return subnet_of(prefix.address(), prefix.length());
    return std::nullopt;
}

/// The range that has the claim's addresses, as the cluster has recorded it. This file remembers it: it never changes.
ipam::BlockRange NodeBlocks::range_of(const ipam::Claim& claim, const Deadline& deadline) {
    const IpAddress inside = claim.wanted.value_or(
        IpAddress(claim.family, claim.usable.empty() ? base::Uint128{0} : claim.usable.front().first));
    for (const BlockRange& known : file_.ranges(deadline)) {
        if (known.space != claim.space || !known.subnet.contains(inside)) continue;
        if (!claim.usable.empty() && known.subnet != subnet_of(inside, claim.prefix_length)) break;
        require_agreement({.space = known.space,
                           .subnet = known.subnet,
                           .store = kStore,
                           .block_size = known.block_size,
                           .requestable = known.requestable,
                           .is_confirmed = true});
        return known;
    }
    return record_range(claim, deadline);
}

ipam::BlockRange NodeBlocks::record_range(const ipam::Claim& claim, const Deadline& deadline) {
    std::optional<RangeObject> recorded;
    RangeObject wanted{.space = claim.space, .subnet = IpPrefix::make({claim.family, 0}, 0).value(), .store = kStore};
    if (claim.usable.empty()) { // an address that the configuration sets, and that may be in a range of another network
        for (RangeObject& range : api_.list_ranges(claim.space, deadline))
            if (range.is_confirmed && range.subnet.contains(*claim.wanted)) recorded = std::move(range);
        wanted.subnet = subnet_of(*claim.wanted, base::address_bits(claim.family));
        wanted.block_size = 1;
    } else {
        wanted.subnet = subnet_of({claim.family, claim.usable.front().first}, claim.prefix_length);
        wanted.block_size = options_.block_size.value_or(ipam::kDefaultBlockSize);
        wanted.requestable = configured_requestable(wanted.subnet);
        recorded = api_.find_range(wanted.name(), deadline);
    }
    if (!recorded) recorded = make_range(wanted, deadline);
    if (!claim.usable.empty()) require_agreement(*recorded);
    if (!recorded->is_confirmed) recorded = confirmed(*std::move(recorded), false, deadline);
    return put_range(*recorded, deadline);
}

ipam::BlockRange NodeBlocks::put_range(const RangeObject& recorded, const Deadline& deadline) {
    BlockRange range{.space = recorded.space,
                     .subnet = recorded.subnet,
                     .block_size = recorded.block_size,
                     .requestable = recorded.requestable,
                     .kubeconfig = options_.kubeconfig,
                     .node_name = options_.node_name};
    file_.put_range(range, deadline);
    return range;
}

/// What a pool of whereabouts has given, blocks would give again. A pool of another length has the same addresses,
/// unless they are unique in their range only.
void NodeBlocks::require_empty_pool(const RangeObject& wanted, const Deadline& deadline) {
    const bool is_unique_in_range = wanted.space.find('@') != std::string::npos;
    for (const std::string& pool : api_.list_pools(deadline)) {
        const auto subnet = subnet_of_pool(wanted.space, pool);
        if (!subnet || !(is_unique_in_range ? *subnet == wanted.subnet : overlap(*subnet, wanted.subnet))) continue;
        const std::size_t records = api_.count_pool_records(pool, deadline);
        if (records == 0) continue;
        throw StoreError(StoreError::Kind::permanent,
                         fmt::format("range {} has {} in whereabouts' IPPool {}, which blocks would give again: set "
                                     "\"store\": \"whereabouts\", or delete those pods first",
                                     wanted.subnet, base::counted(records, "lease", "leases"), pool));
    }
}

RangeObject NodeBlocks::make_range(const RangeObject& wanted, const Deadline& deadline) {
    require_empty_pool(wanted, deadline);
    for (int attempt = 0; attempt < kMostRounds; ++attempt) {
        const WriteOutcome made = api_.create(wanted, deadline);
        if (made.done == WriteOutcome::Done::yes) {
            RangeObject range = wanted;
            range.version = made.version;
            range.uid = made.uid;
            return confirmed(std::move(range), true, deadline);
        }
        // Whoever made it, the object says what holds.
        if (auto range = api_.find_range(wanted.name(), deadline)) return *std::move(range);
    }
    throw StoreError(StoreError::Kind::temporary,
                     fmt::format("lease store: AddressRange {} was made and is gone each time: find out who deletes it",
                                 wanted.name()));
}

/// Two nodes may create ranges that overlap at the same time. Each looks after it has created its own, and goes on only
/// if no other one is confirmed or older. The confirmation tests that the range is still as it was in that look, so of
/// two looks that each saw the other range unconfirmed and younger, one is out of date and has to be repeated.
RangeObject NodeBlocks::confirmed(RangeObject range, bool is_ours, const Deadline& deadline) {
    for (int attempt = 0; attempt < kMostRounds; ++attempt) {
        std::vector<RangeObject> all = api_.list_ranges(range.space, deadline);
        const auto self =
            std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.subnet == range.subnet; });
        if (self == all.end()) break;
        if (self->is_confirmed) return std::move(*self);
        for (const RangeObject& other : all) {
            if (other.subnet == range.subnet || !overlap(other.subnet, range.subnet)) continue;
            if (!other.is_confirmed && is_earlier(self->version, other.version)) continue; // it withdraws
            if (is_ours) (void)api_.remove(*self, deadline);
            throw StoreError(
                StoreError::Kind::permanent,
                fmt::format("range {} overlaps range {}, which the cluster has as AddressRange {}: use the "
                            "same range, or give one of the networks a \"network_name\"",
                            range.subnet, other.subnet, other.name()));
        }
        if (api_.confirm(*self, deadline).done == WriteOutcome::Done::yes) {
            self->is_confirmed = true;
            return std::move(*self);
        }
    }
    throw StoreError(StoreError::Kind::temporary,
                     fmt::format("lease store: other nodes change AddressRange {}: try again", range.name()));
}

} // namespace rdmanet::cluster
