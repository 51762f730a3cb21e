#include "regain.hpp"

#include "ranges.hpp"

#include "../regain.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/ipam/errors.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace rdmanet::cluster {
namespace {

using etcd::Transaction;

using Entries = std::vector<etcd::KeyValue>; // of one key: none or one

void if_as_read(Transaction& change, const std::string& key, const Entries& entries) {
    if (entries.empty())
        change.if_absent(key);
    else
        change.if_unchanged(key, entries.front().revision);
}

std::string holder_of(const EtcdParts& parts, const std::string& key, const etcd::KeyValue& entry) {
    const auto stored = parse_stored_lease(entry.value);
    if (!stored) return fmt::format("key {} does not have a lease", key);
    const ipam::Lease lease = parts.to_lease(*stored);
    return fmt::format("{} of node {} has it by now", lease.owner.to_string(), stored->node_name);
}

bool is_of(const etcd::KeyValue& entry, const ipam::Lease& lease) {
    const auto stored = parse_stored_lease(entry.value);
    return stored && stored->lease.owner.key == lease.owner.key && stored->lease.address == lease.address;
}

ipam::Claim claim_of(const ipam::Lease& lease) {
    const base::IpAddress& address = lease.address.address();
    return {.space = lease.space,
            .family = address.family(),
            .prefix_length = lease.address.length(),
            .usable = {},
            .wanted = address};
}

/// A store that has the range by now may have given the address. Otherwise `change` tests that none has.
std::string why_not_in_etcd(EtcdParts& parts, const ipam::Lease& lease, const RecordedRanges& recorded,
                            Transaction& change) {
    const ipam::Claim claim = claim_of(lease);
    EtcdRanges ranges(parts.keys());
    ranges.note(lease.space, recorded);
    try {
        ranges.require_known({&claim});
    } catch (const ipam::StoreError& other_store) {
        return fmt::format("{}: {}", other_store.what(), kTakeAnother);
    }
    ranges.require({&claim}, change);
    return {};
}

} // namespace

ipam::Regained regain(EtcdParts& parts, const ipam::Lease& lease, const base::Deadline& deadline) {
    ipam::Regained regained{.lease = lease};
    StoredLease own = parts.own(lease.space, lease.slot, lease.address, lease.owner);
    own.lease.since = lease.since;
    own.lease.cooldown = lease.cooldown;
    const std::string address_key = parts.keys().address(lease.space, lease.address.address());
    const std::string owner_key = parts.keys().owner(lease);
    const std::string held_key = parts.keys().held(own.machine_id, lease);
    for (int attempt = 0; attempt < kMostRegainTries; ++attempt) {
        const etcd::Answer answer = parts.session.run(Transaction()
                                                          .read({.key = address_key})
                                                          .read({.key = owner_key})
                                                          .read({.key = held_key})
                                                          .read(RecordedRanges::all(parts.keys(), lease.space)),
                                                      deadline);
        const Entries& address = answer.found.at(0).entries;
        const Entries& owner = answer.found.at(1).entries;
        const Entries& held = answer.found.at(2).entries;
        if (!address.empty() && !is_of(address.front(), lease)) {
            regained.refused = fmt::format("{}: {}", holder_of(parts, address_key, address.front()), kTakeAnother);
            return regained;
        }
        if (!owner.empty() && !is_of(owner.front(), lease)) {
            regained.refused = fmt::format("the attachment has another address in its place: {}", kTakeAnother);
            return regained;
        }
        const bool is_whole = !address.empty() && !owner.empty() && !held.empty() &&
                              address.front().revision == owner.front().revision &&
                              address.front().revision == held.front().revision;
        if (is_whole) {
            if (attempt != 0) regained.made.push_back(fmt::format("its keys below {}", parts.keys().all()));
            return regained;
        }
        Transaction change;
        change.if_unchanged(parts.node.key(), parts.node.revision(deadline));
        if_as_read(change, address_key, address);
        if (address.empty()) {
            const auto ranges = RecordedRanges::parse(answer.found.at(3), answer.revision);
            regained.refused = why_not_in_etcd(parts, lease, ranges, change);
            if (!regained.refused.empty()) return regained;
        }
        if_as_read(change, owner_key, owner);
        parts.leases.put(change, own);
        parts.note_claim(own.lease);
        const auto written = parts.node.claim(change, deadline);
        if (written && written->succeeded) {
            regained.made.push_back(fmt::format("its keys below {}", parts.keys().all()));
            return regained;
        }
        if (written) parts.node.forget_revision(); // perhaps that was the reason
    }
    throw ipam::StoreError(ipam::StoreError::Kind::temporary,
                           fmt::format("lease store: the keys of {} have changed {} times meanwhile: try again",
                                       lease.address.address(), kMostRegainTries));
}

} // namespace rdmanet::cluster
