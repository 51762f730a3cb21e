// A range that goes to or comes from etcd while other stores have addresses of it.
//
// Its key says which store gives its addresses, and every claim of etcd tests that in its transaction. What another
// store still has is held: the key of such an address names no pod, so that no claim can take it.
#pragma once

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/ip_address.hpp>
#include <rdmanet/cluster/whereabouts_store.hpp>
#include <rdmanet/etcd/client.hpp>
#include <rdmanet/ipam/range.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace rdmanet::cluster {

/// Every call throws ipam::StoreError, and base::TimeoutError.
class EtcdRange {
public:
    /// Asks nobody anything. `prefix` of all keys, without a slash at its end.
    EtcdRange(etcd::Client client, const std::string& prefix, Place place);
    ~EtcdRange();

    /// What the key says, and since when. The changes below are made only if it is still as it was read.
    struct Record {
        std::string store;         // "etcd", another one, or "FROM>etcd"; empty: nobody has recorded the range
        std::int64_t revision = 0; // of the key; 0: there is none
    };
    [[nodiscard]] Record read(const base::Deadline& deadline);

    /// `store` has the range, or will have it. Afterwards no claim of etcd succeeds, also none that is on its way. Writes
    /// always, so nobody else who has read the record before can change it any more.
    Record take(const std::string& store, const base::Deadline& deadline);
    /// Whether there are addresses of it that no other store holds.
    [[nodiscard]] bool has_leases(const base::Deadline& deadline);
    /// Those, by who has them: the name of a node, or empty for a key that nobody can read.
    [[nodiscard]] std::map<std::string, std::vector<ipam::Interval>> leases(const base::Deadline& deadline);

    /// The range comes from that store: claims fail until give(). Changes `record`, unless it says "etcd" already. Throws
    /// if it is not as it was read.
    void prepare(const std::string& from, Record& record, const base::Deadline& deadline);
    /// Just these addresses are held by `holder` afterwards. Returns those that have a lease in etcd. Throws if the record
    /// is not as it was read.
    [[nodiscard]] std::vector<ipam::Interval> hold(const std::string& holder, const std::vector<ipam::Interval>& held,
                                                   const Record& record, const base::Deadline& deadline);
    /// From now on claims succeed. Throws if the record is not as it was read.
    void give(Record& record, const base::Deadline& deadline);

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

} // namespace rdmanet::cluster
