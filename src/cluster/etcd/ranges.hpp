// Whether etcd gives the addresses of a range, as its own keys say. Every claim compares them in its transaction, so
// whoever writes another store there knows that no claim succeeds any more, also none that is on its way.
#pragma once

#include "keys.hpp"
#include "values.hpp"

#include <rdmanet/etcd/transaction.hpp>
#include <rdmanet/ipam/store.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace rdmanet::cluster {

struct RecordedRange {
    std::string key;
    base::IpPrefix subnet;
    std::string store; // empty: nobody can read it
    std::int64_t revision = 0;
};

/// All ranges of a space, at one revision of the store.
struct RecordedRanges {
    std::vector<RecordedRange> ranges{};
    std::int64_t revision = 0;

    [[nodiscard]] static etcd::Range all(const EtcdKeys& keys, const std::string& space) {
        return etcd::Range::below(keys.ranges(space));
    }
    /// From the answer's reading of all(), whether the transaction succeeded or not.
    [[nodiscard]] static RecordedRanges parse(const etcd::Found& found, std::int64_t revision);
};

/// The subnet of the claim's range. Of an address that the configuration sets: as it is configured.
[[nodiscard]] base::IpPrefix subnet_of(const ipam::Claim& claim);

/// What claims of one call add to their transaction.
class EtcdRanges {
public:
    explicit EtcdRanges(const EtcdKeys& keys) : keys_(keys) {}

    /// etcd must have the ranges of these claims. Those that nobody has recorded so far are recorded, as far as that is
    /// known from note().
    void require(const std::vector<const ipam::Claim*>& claims, etcd::Transaction& change) const;
    /// Throws ipam::StoreError if one of the claims has addresses that etcd does not give.
    void require_known(const std::vector<const ipam::Claim*>& claims) const;

    void note(const std::string& space, RecordedRanges ranges) { known_[space] = std::move(ranges); }

private:
    [[nodiscard]] const RecordedRange* find(const ipam::Claim& claim) const;

    const EtcdKeys& keys_;
    std::map<std::string, RecordedRanges> known_; // by space
};

} // namespace rdmanet::cluster
