// What etcd has of addresses, whoever wrote it, for people.
#pragma once

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/etcd/client.hpp>
#include <rdmanet/ipam/lease.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rdmanet::cluster {

struct SeenEtcdLease {
    std::string key;
    std::optional<ipam::Lease> lease; // nullopt: rdmanet has not written the value, or it is `held`
    struct Held {
        std::string space;
        base::IpAddress address;
        std::string holder;
    };
    std::optional<Held> held{}; // another store has the address: EtcdRange::hold()
    std::string machine_id;
    std::string node;
    std::int64_t revision = 0; // of its keys
};

/// Every call throws ipam::StoreError, and base::TimeoutError.
class EtcdSurvey {
public:
    /// Asks nobody anything. `prefix` of all keys, without a slash at its end.
    EtcdSurvey(etcd::Client client, const std::string& prefix);
    ~EtcdSurvey();

    /// The leases of all spaces, by space and address.
    [[nodiscard]] std::vector<SeenEtcdLease> list(const base::Deadline& deadline);
    /// Removes a lease that is still as it was seen. False: it has changed, or is gone.
    [[nodiscard]] bool remove(const SeenEtcdLease& seen, const base::Deadline& deadline);

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

} // namespace rdmanet::cluster
