#include "leases.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/ipam/errors.hpp>

#include <algorithm>
#include <utility>

namespace rdmanet::cluster {
namespace {

using etcd::Answer;
using etcd::KeyValue;
using etcd::Range;
using etcd::Transaction;

constexpr std::size_t kReadsAtOnce = 100; // below etcd's limit of operations

} // namespace

std::string EtcdLeases::address_key(const StoredLease& stored) const {
    return session_.keys().address(stored.lease.space, stored.lease.address.address());
}

void EtcdLeases::put(Transaction& change, const StoredLease& stored) const {
    const ipam::Lease& lease = stored.lease;
    const std::string owner_key = session_.keys().owner(lease);
    const std::string text = to_text(stored);
    change.put(address_key(stored), text).put(owner_key, text);
    change.put(session_.keys().held(stored.machine_id, lease),
               to_text(StoredPlace{
                   .address_key = address_key(stored), .owner_key = owner_key, .boot_id = lease.owner.boot_id}));
}

std::vector<StoredLease> EtcdLeases::parse_own(const std::vector<KeyValue>& entries) {
    std::vector<StoredLease> leases;
    for (const KeyValue& entry : entries) {
        auto stored = parse_stored_lease(entry.value);
        if (!stored)
            throw ipam::StoreError(ipam::StoreError::Kind::permanent,
                                   fmt::format("lease store: key {} does not have a lease: find out who wrote it, then "
                                               "run `etcdctl del` with it",
                                               base::quoted(entry.key)));
        stored->revision = entry.revision;
        leases.push_back(*std::move(stored));
    }
    return leases;
}

std::vector<StoredLease> EtcdLeases::read_own(const std::vector<std::string>& spaces, const ipam::OwnerKey& key,
                                              const base::Deadline& deadline) {
    std::vector<StoredLease> leases;
    if (spaces.empty()) return leases;
    Transaction reading;
    for (const std::string& space : spaces) reading.read(Range::below(session_.keys().owner(space, key)));
    for (const etcd::Found& found : session_.run(reading, deadline).found)
        for (StoredLease& stored : parse_own(found.entries)) leases.push_back(std::move(stored));
    std::stable_sort(leases.begin(), leases.end(),
                     [](const auto& a, const auto& b) { return a.lease.slot < b.lease.slot; });
    return leases;
}

std::vector<std::string> EtcdLeases::folders(const std::string& before, const base::Deadline& deadline) {
    std::vector<std::string> folders;
    Range range = Range::below(before, Range::Want::keys);
    range.limit = 1;
    for (;;) {
        const Answer answer = session_.run(Transaction().read(range), deadline);
        if (answer.found[0].entries.empty()) return folders;
        const std::string& key = answer.found[0].entries.front().key;
        folders.push_back(key.substr(before.size(), key.find('/', before.size()) - before.size()));
        range.key = etcd::end_of_prefix(before + folders.back() + '/');
    }
}

void EtcdLeases::for_each_page(const base::Deadline& deadline, const std::function<void(Page)>& act) {
    const std::string all = session_.keys().all();
    for (const std::string& space : folders(all, deadline))
        session_.for_each_page_below(fmt::format("{}{}/a/", all, space), deadline,
                                     [&](const std::vector<KeyValue>& entries) {
                                         Page page;
                                         for (const KeyValue& entry : entries) {
                                             auto stored = parse_stored_lease(entry.value);
                                             if (stored) {
                                                 stored->revision = entry.revision;
                                                 page.leases.push_back(*std::move(stored));
                                             } else if (!parse_stored_hold(entry.value)) {
                                                 ++page.unreadable;
                                             }
                                         }
                                         act(std::move(page));
                                     });
}

std::vector<StoredLease> EtcdLeases::read(const std::vector<std::string>& address_keys,
                                          const base::Deadline& deadline) {
    std::vector<StoredLease> leases;
    for (std::size_t begin = 0; begin < address_keys.size(); begin += kReadsAtOnce) {
        Transaction reading;
        for (std::size_t at = begin; at < std::min(address_keys.size(), begin + kReadsAtOnce); ++at)
            reading.read({.key = address_keys[at]});
        for (const etcd::Found& found : session_.run(reading, deadline).found) {
            if (found.entries.empty()) continue;
            auto stored = parse_stored_lease(found.entries.front().value);
            if (!stored) continue;
            stored->revision = found.entries.front().revision;
            leases.push_back(*std::move(stored));
        }
    }
    return leases;
}

void EtcdLeases::add_removal(Transaction& change, const StoredLease& stored, WithAddress with_address) const {
    const std::string owner_key = session_.keys().owner(stored.lease);
    change.if_unchanged(owner_key, stored.revision);
    change.remove(owner_key).remove(session_.keys().held(stored.machine_id, stored.lease));
    if (with_address == WithAddress::no) return;
    change.if_unchanged(address_key(stored), stored.revision).remove(address_key(stored));
}

EtcdSession::Change EtcdLeases::remove_keys(const StoredLease& stored, WithAddress with_address,
                                            const base::Deadline& deadline) {
    Transaction change;
    add_removal(change, stored, with_address);
    return session_.change(change, deadline);
}

EtcdLeases::Removed EtcdLeases::remove(const std::vector<StoredLease>& leases, const base::Deadline& deadline) {
    Removed removed;
    for (std::size_t begin = 0; begin < leases.size(); begin += kMostAddressesInEtcd) {
        const std::size_t end = std::min(leases.size(), begin + kMostAddressesInEtcd);
        Transaction change;
        for (std::size_t at = begin; at < end; ++at) add_removal(change, leases[at], WithAddress::yes);
        const auto answer = session_.try_to_change(change, deadline);
        for (std::size_t at = begin; at < end; ++at) {
            const bool is_done = answer && answer->succeeded;
            if (!is_done) removed.is_all = false;
            if (is_done || remove_one(leases[at], !answer, deadline)) removed.leases.push_back(leases[at]);
        }
    }
    return removed;
}

bool EtcdLeases::remove_one(const StoredLease& stored, bool may_be_done, const base::Deadline& deadline) {
    const EtcdSession::Change whole = remove_keys(stored, WithAddress::yes, deadline);
    if (whole.succeeded) return true;
    const std::string key = address_key(stored);
    const Answer answer = session_.run(Transaction().read({.key = key}), deadline);
    const auto& entries = answer.found[0].entries;
    if (!entries.empty() && entries.front().revision == stored.revision) { // its owner's key was removed by hand
        const std::string held = session_.keys().held(stored.machine_id, stored.lease);
        (void)session_.change(Transaction().if_unchanged(held, stored.revision).remove(held), deadline);
        return session_.change(Transaction().if_unchanged(key, stored.revision).remove(key), deadline).succeeded;
    }
    const bool has_removed = remove_keys(stored, WithAddress::no, deadline).succeeded;
    return has_removed || (entries.empty() && (may_be_done || whole.may_have_been_done));
}

std::vector<EtcdLeases::Held> EtcdLeases::read_held(const std::vector<KeyValue>& entries,
                                                    const base::Deadline& deadline) {
    std::vector<Held> held;
    for (const KeyValue& entry : entries)
        if (auto place = parse_stored_place(entry.value)) held.push_back({.entry = entry, .place = *std::move(place)});
    for (std::size_t begin = 0; begin < held.size(); begin += kReadsAtOnce) {
        Transaction reading;
        const std::size_t end = std::min(held.size(), begin + kReadsAtOnce);
        for (std::size_t at = begin; at < end; ++at) reading.read({.key = held[at].place.address_key});
        const Answer answer = session_.run(reading, deadline);
        for (std::size_t at = begin; at < end; ++at) {
            const auto& found = answer.found.at(at - begin).entries;
            if (found.empty() || found.front().revision != held[at].entry.revision) continue;
            held[at].address = found.front();
            held[at].lease = parse_stored_lease(found.front().value);
            if (held[at].lease) held[at].lease->revision = found.front().revision;
        }
    }
    return held;
}

std::size_t EtcdLeases::remove_held(const std::vector<Held>& held, const base::Deadline& deadline) {
    const auto add = [](Transaction& change, const Held& one) {
        const auto& [entry, place, address, lease] = one;
        if (address) change.if_unchanged(address->key, entry.revision).remove(address->key);
        change.if_unchanged(entry.key, entry.revision).remove(entry.key);
        change.if_unchanged(place.owner_key, entry.revision).remove(place.owner_key);
    };
    std::size_t count = 0;
    for (std::size_t begin = 0; begin < held.size(); begin += kMostAddressesInEtcd) {
        const std::size_t end = std::min(held.size(), begin + kMostAddressesInEtcd);
        Transaction all;
        for (std::size_t at = begin; at < end; ++at) add(all, held[at]);
        const bool is_done = session_.change(all, deadline).succeeded;
        for (std::size_t at = begin; at < end; ++at)
            if (is_done || remove_each_key(held[at], deadline)) count += held[at].address ? 1 : 0;
    }
    return count;
}

/// For where somebody has removed or written one of them by hand.
bool EtcdLeases::remove_each_key(const Held& held, const base::Deadline& deadline) {
    const auto remove = [&](const std::string& key) {
        const auto change = Transaction().if_unchanged(key, held.entry.revision).remove(key);
        const EtcdSession::Change done = session_.change(change, deadline);
        return done.succeeded || done.may_have_been_done;
    };
    const bool is_free = held.address && remove(held.address->key);
    (void)remove(held.place.owner_key);
    (void)remove(held.entry.key); // the last one: it leads to the others
    return is_free;
}

} // namespace rdmanet::cluster
