#include <rdmanet/cluster/etcd_range.hpp>

#include "ranges.hpp"
#include "session.hpp"
#include "values.hpp"

#include "../blocks/objects.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/ipam/errors.hpp>

#include <algorithm>
#include <set>
#include <utility>

namespace rdmanet::cluster {
namespace {

using base::Deadline;
using base::IpAddress;
using base::Uint128;
using etcd::KeyValue;
using etcd::Transaction;
using ipam::Interval;
using ipam::StoreError;

constexpr int kMostRangeTries = 30;
constexpr std::size_t kHeldAtOnce = 100; // below etcd's limit of operations, with the condition about the range
constexpr Uint128 kMostHeld = 1U << 20U; // each is a key

} // namespace

class EtcdRange::Impl {
public:
    Impl(etcd::Client client, const std::string& prefix, Place its_place)
        : session_(std::move(client), prefix), place_(std::move(its_place)),
          key_(session_.keys().range(place_.space, place_.subnet)) {}

    Record read(const Deadline& deadline) { return own(read_all(deadline)); }

    Record take(const std::string& store, const Deadline& deadline) {
        for (int attempt = 0; attempt < kMostRangeTries; ++attempt)
            if (const auto written = write(store, read_all(deadline), deadline)) return *written;
        refuse_changed();
    }

    void prepare(const std::string& from, Record& record, const Deadline& deadline) {
        if (record.store == kInEtcd) return;
        const RecordedRanges all = read_all(deadline);
        if (own(all).revision != record.revision) refuse_changed();
        const auto written = write(from + std::string(kToEtcd), all, deadline);
        if (!written) refuse_changed();
        record = *written;
    }

    void give(Record& record, const Deadline& deadline) {
        if (record.store == kInEtcd) return;
        const auto done = session_.change(
            Transaction().if_unchanged(key_, record.revision).put(key_, text_of_range(kInEtcd)), deadline);
        if (!done.succeeded && !(done.may_have_been_done && read(deadline).store == kInEtcd)) refuse_changed();
        record = read(deadline);
    }

    /// Of each address of the range that has one.
    template <class Act>
    void for_each_key(const Deadline& deadline, Act act) {
        // The key that follows another one at once has a zero byte more.
        const etcd::Range addresses{.key = session_.keys().address(place_.space, place_.subnet.network()),
                                    .end = session_.keys().address(place_.space, place_.subnet.last()) + '\0'};
        session_.for_each_page_of(addresses, deadline, [&](const std::vector<KeyValue>& entries) {
            for (const KeyValue& entry : entries)
                if (const auto address = EtcdKeys::address_in(entry.key)) act(*address, entry);
        });
    }

    std::vector<Interval> hold(const std::string& holder, const std::vector<Interval>& held, const Record& record,
                               const Deadline& deadline) {
        require_few(held);
        for (int attempt = 0; attempt < kMostRangeTries; ++attempt) {
            Difference difference = compare(holder, held, deadline);
            if (difference.missing.empty() && difference.surplus.empty()) return std::move(difference.leased);
            if (change(holder, difference, record, deadline)) continue; // the next look is the proof
            const Record now = read(deadline);
            if (now.revision != record.revision) refuse_changed();
        }
        refuse_changed();
    }

private:
    struct Difference {
        std::vector<IpAddress> missing;
        std::vector<KeyValue> surplus;
        std::vector<Interval> leased;
    };

    RecordedRanges read_all(const Deadline& deadline) {
        const etcd::Answer answer =
            session_.run(Transaction().read(RecordedRanges::all(session_.keys(), place_.space)), deadline);
        return RecordedRanges::parse(answer.found[0], answer.revision);
    }

    [[nodiscard]] Record own(const RecordedRanges& all) const {
        for (const RecordedRange& range : all.ranges)
            if (range.key == key_) return {.store = range.store, .revision = range.revision};
        return {};
    }

    /// nullopt: one of the ranges is not as it was read.
    std::optional<Record> write(const std::string& store, const RecordedRanges& all, const Deadline& deadline) {
        require_no_overlap(all);
        const auto done = session_.change(Transaction()
                                              .if_unchanged_below(session_.keys().ranges(place_.space), all.revision)
                                              .put(key_, text_of_range(store)),
                                          deadline);
        if (!done.succeeded) return std::nullopt;
        return Record{.store = store, .revision = done.revision};
    }

    /// Claims of the other range give the same addresses, and test only their own key.
    void require_no_overlap(const RecordedRanges& all) const {
        for (const RecordedRange& other : all.ranges)
            if (other.key != key_ && overlap(other.subnet, place_.subnet))
                throw StoreError(
                    StoreError::Kind::permanent,
                    fmt::format("range {} overlaps range {}, which etcd has as key {}, in store \"{}\": if "
                                "no network has that range any more, run `etcdctl del` with the key; "
                                "otherwise give the networks one range",
                                place_.subnet, other.subnet, base::quoted(other.key), other.store));
    }

    void require_few(const std::vector<Interval>& held) const {
        Uint128 count = 0;
        for (const Interval& interval : held) count += std::min(interval.last - interval.first, kMostHeld) + 1;
        if (count > kMostHeld)
            throw StoreError(StoreError::Kind::permanent,
                             fmt::format("range {}: other stores have {} addresses of it, and etcd can leave out at "
                                         "most {}: delete pods of the range first",
                                         place_.subnet, ipam::to_text(count), ipam::to_text(kMostHeld)));
    }

    Difference compare(const std::string& holder, const std::vector<Interval>& held, const Deadline& deadline) {
        Difference difference;
        std::set<IpAddress> missing;
        for (const Interval& interval : held)
            for (Uint128 at = interval.first;; ++at) {
                missing.emplace(place_.subnet.family(), at);
                if (at == interval.last) break;
            }
        const std::string own = to_text(StoredHold{.holder = holder});
        for_each_key(deadline, [&](const IpAddress& address, const KeyValue& entry) {
            const bool is_wanted = missing.erase(address) != 0;
            if (entry.value == own) {
                if (!is_wanted) difference.surplus.push_back(entry);
            } else if (is_wanted && !parse_stored_hold(entry.value)) {
                difference.leased.push_back({address.value(), address.value()});
            }
        });
        difference.missing.assign(missing.begin(), missing.end());
        return difference;
    }

    /// False: not all of it was done.
    bool change(const std::string& holder, const Difference& difference, const Record& record,
                const Deadline& deadline) {
        const std::string text = to_text(StoredHold{.holder = holder});
        const auto& [missing, surplus, leased] = difference;
        for (std::size_t begin = 0; begin < missing.size(); begin += kHeldAtOnce) {
            Transaction putting = if_recorded(record);
            for (std::size_t at = begin; at < std::min(missing.size(), begin + kHeldAtOnce); ++at) {
                const std::string key = session_.keys().address(place_.space, missing[at]);
                putting.if_absent(key).put(key, text);
            }
            if (!session_.change(putting, deadline).succeeded) return false;
        }
        for (std::size_t begin = 0; begin < surplus.size(); begin += kHeldAtOnce) {
            Transaction removing = if_recorded(record);
            for (std::size_t at = begin; at < std::min(surplus.size(), begin + kHeldAtOnce); ++at)
                removing.if_unchanged(surplus[at].key, surplus[at].revision).remove(surplus[at].key);
            if (!session_.change(removing, deadline).succeeded) return false;
        }
        return true;
    }

    [[nodiscard]] Transaction if_recorded(const Record& record) const {
        Transaction change;
        if (record.revision == 0)
            change.if_absent(key_);
        else
            change.if_unchanged(key_, record.revision);
        return change;
    }

    [[noreturn]] void refuse_changed() const {
        throw StoreError(StoreError::Kind::temporary,
                         fmt::format("lease store: others change range {} in etcd, key {}: run this command again",
                                     place_.subnet, base::quoted(key_)));
    }

    EtcdSession session_;
    Place place_;
    std::string key_;
};

EtcdRange::EtcdRange(etcd::Client client, const std::string& prefix, Place place)
    : impl_(std::make_unique<Impl>(std::move(client), prefix, std::move(place))) {}
EtcdRange::~EtcdRange() = default;

EtcdRange::Record EtcdRange::read(const Deadline& deadline) {
    return impl_->read(deadline);
}

EtcdRange::Record EtcdRange::take(const std::string& store, const Deadline& deadline) {
    return impl_->take(store, deadline);
}

bool EtcdRange::has_leases(const Deadline& deadline) {
    return !leases(deadline).empty();
}

std::map<std::string, std::vector<Interval>> EtcdRange::leases(const Deadline& deadline) {
    std::map<std::string, std::vector<Interval>> by_node;
    impl_->for_each_key(deadline, [&](const IpAddress& address, const KeyValue& entry) {
        if (parse_stored_hold(entry.value)) return;
        const auto stored = parse_stored_lease(entry.value);
        by_node[stored ? stored->node_name : std::string()].push_back({address.value(), address.value()});
    });
    return by_node;
}

void EtcdRange::prepare(const std::string& from, Record& record, const Deadline& deadline) {
    impl_->prepare(from, record, deadline);
}

std::vector<Interval> EtcdRange::hold(const std::string& holder, const std::vector<Interval>& held,
                                      const Record& record, const Deadline& deadline) {
    return impl_->hold(holder, held, record, deadline);
}

void EtcdRange::give(Record& record, const Deadline& deadline) {
    impl_->give(record, deadline);
}

} // namespace rdmanet::cluster
