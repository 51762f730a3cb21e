#include "ranges.hpp"

#include "../blocks/objects.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/ipam/errors.hpp>

#include <algorithm>
#include <set>
#include <utility>

namespace rdmanet::cluster {
namespace {

using base::IpPrefix;
using ipam::Claim;
using ipam::StoreError;

/// Else it is an address that the configuration sets. It may be in a range of another network.
bool has_range(const Claim& claim) {
    return !claim.usable.empty();
}

[[noreturn]] void refuse(const IpPrefix& subnet, const RecordedRange& other) {
    if (other.store.empty())
        throw StoreError(StoreError::Kind::permanent,
                         fmt::format("lease store: key {} does not say which store gives the addresses of {}: find out "
                                     "who wrote it, then run `etcdctl del` with it",
                                     base::quoted(other.key), other.subnet));
    if (other.store.ends_with(kToEtcd))
        throw StoreError(StoreError::Kind::temporary,
                         fmt::format("range {}: key {} says that it is on its way to etcd: delete that key after "
                                     "the pods of the range are gone",
                                     other.subnet, base::quoted(other.key)));
    throw StoreError(StoreError::Kind::permanent,
                     fmt::format("range {}: this network has \"store\" etcd, and key {} says that the addresses of {} "
                                 "are in store {}: use that, or a range of its own",
                                 subnet, base::quoted(other.key), other.subnet, base::quoted(other.store)));
}

} // namespace

RecordedRanges RecordedRanges::parse(const etcd::Found& found, std::int64_t revision) {
    RecordedRanges all{.revision = revision};
    for (const etcd::KeyValue& entry : found.entries)
        if (const auto subnet = EtcdKeys::range_in(entry.key))
            all.ranges.push_back({.key = entry.key,
                                  .subnet = *subnet,
                                  .store = store_of_range(entry.value),
                                  .revision = entry.revision});
    return all;
}

IpPrefix subnet_of(const Claim& claim) {
    const base::IpAddress inside =
        claim.usable.empty() ? claim.wanted.value() : base::IpAddress(claim.family, claim.usable.front().first);
    const IpPrefix prefix = IpPrefix::make(inside, claim.prefix_length).value();
    return IpPrefix::make(prefix.network(), prefix.length()).value();
}

/// Among those that are known.
const RecordedRange* EtcdRanges::find(const Claim& claim) const {
    const auto known = known_.find(claim.space);
    if (known == known_.end()) return nullptr;
    const IpPrefix subnet = subnet_of(claim);
    for (const RecordedRange& range : known->second.ranges)
        if (has_range(claim) ? range.subnet == subnet : range.subnet.contains(*claim.wanted)) return &range;
    return nullptr;
}

void EtcdRanges::require(const std::vector<const Claim*>& claims, etcd::Transaction& change) const {
    std::set<std::string> seen; // keys
    std::set<std::string> guarded;
    for (const Claim* claim : claims) {
        const RecordedRange* recorded = find(*claim);
        const std::string key = recorded != nullptr ? recorded->key : keys_.range(claim->space, subnet_of(*claim));
        if (!seen.insert(key).second) continue;
        const auto known = known_.find(claim->space);
        if (recorded != nullptr || known == known_.end()) {
            change.if_value(key, text_of_range(kInEtcd));
            continue;
        }
        // Nobody else records one meanwhile that has the same addresses.
        if (guarded.insert(claim->space).second)
            change.if_unchanged_below(keys_.ranges(claim->space), known->second.revision);
        if (has_range(*claim)) change.put(key, text_of_range(kInEtcd));
    }
}

void EtcdRanges::require_known(const std::vector<const Claim*>& claims) const {
    for (const Claim* claim : claims) {
        const auto known = known_.find(claim->space);
        if (known == known_.end()) continue;
        for (const RecordedRange& range : known->second.ranges) {
            const bool has_part =
                has_range(*claim) ? overlap(range.subnet, subnet_of(*claim)) : range.subnet.contains(*claim->wanted);
            if (has_part && range.store != kInEtcd) refuse(subnet_of(*claim), range);
        }
    }
}

} // namespace rdmanet::cluster
