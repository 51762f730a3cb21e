// Leases as they are in etcd: read, written and removed with all of their keys.
#pragma once

#include "session.hpp"
#include "values.hpp"

#include <rdmanet/cluster/etcd_store.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace rdmanet::cluster {

class EtcdLeases {
public:
    explicit EtcdLeases(EtcdSession& session) : session_(session) {}

    /// Writes all keys of the lease.
    void put(etcd::Transaction& change, const StoredLease& stored) const;

    /// What the attachment has in those spaces, by slot. Throws StoreError for a key without a lease.
    [[nodiscard]] std::vector<StoredLease> read_own(const std::vector<std::string>& spaces, const ipam::OwnerKey& key,
                                                    const base::Deadline& deadline);
    [[nodiscard]] static std::vector<StoredLease> parse_own(const std::vector<etcd::KeyValue>& entries);

    /// All leases of all spaces.
    struct Page {
        std::vector<StoredLease> leases{};
        std::size_t unreadable = 0; // without addresses that another store has
    };
    void for_each_page(const base::Deadline& deadline, const std::function<void(Page)>& act);

    /// What follows `before` up to the next slash, for each key. Reads one key of each.
    [[nodiscard]] std::vector<std::string> folders(const std::string& before, const base::Deadline& deadline);

    /// The leases at those keys. One that is gone is left out, and one that nobody can read.
    [[nodiscard]] std::vector<StoredLease> read(const std::vector<std::string>& address_keys,
                                                const base::Deadline& deadline);

    struct Removed {
        std::vector<StoredLease> leases{};
        bool is_all = true; // and nobody can have changed one meanwhile
    };
    /// Removes those that are unchanged.
    Removed remove(const std::vector<StoredLease>& leases, const base::Deadline& deadline);

    /// A lease by the key that its node has of it.
    struct Held {
        etcd::KeyValue entry;
        StoredPlace place;
        std::optional<etcd::KeyValue> address{}; // the address's own key, if it is still of this lease
        std::optional<StoredLease> lease{};      // nullopt: nobody can read it
    };
    [[nodiscard]] std::vector<Held> read_held(const std::vector<etcd::KeyValue>& entries,
                                              const base::Deadline& deadline);
    /// Removes all keys of those that are unchanged, and returns how many addresses are free by that.
    std::size_t remove_held(const std::vector<Held>& held, const base::Deadline& deadline);

    enum class WithAddress : std::uint8_t { no, yes };
    /// Without the address's own key, which somebody removed by hand, the others mean nothing.
    EtcdSession::Change remove_keys(const StoredLease& stored, WithAddress with_address,
                                    const base::Deadline& deadline);

private:
    void add_removal(etcd::Transaction& change, const StoredLease& stored, WithAddress with_address) const;
    [[nodiscard]] bool remove_one(const StoredLease& stored, bool may_be_done, const base::Deadline& deadline);
    bool remove_each_key(const Held& held, const base::Deadline& deadline);
    [[nodiscard]] std::string address_key(const StoredLease& stored) const;

    EtcdSession& session_;
};

} // namespace rdmanet::cluster
