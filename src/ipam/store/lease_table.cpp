#include "lease_table.hpp"

#include <algorithm>

namespace rdmanet::ipam {
namespace {

#define RDMANET_LEASE_COLUMNS                                                                                          \
    "space, address, prefix_length, slot, network, container, ifname, pod, pod_namespace, pod_name, pod_uid, "         \
    "netns_path, netns_cookie, netns_inode, pid_namespace_inode, boot_id, since, cooldown"
#define RDMANET_LEASE_VALUES "?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18"

constexpr const char* kInsert = "INSERT INTO leases(" RDMANET_LEASE_COLUMNS ") VALUES(" RDMANET_LEASE_VALUES ")";
constexpr const char* kInsertIfFree =
    "INSERT OR IGNORE INTO leases(" RDMANET_LEASE_COLUMNS ") VALUES(" RDMANET_LEASE_VALUES ")";
constexpr const char* kSelectAddress = "SELECT " RDMANET_LEASE_COLUMNS " FROM leases WHERE space = ?1 AND address = ?2";
constexpr const char* kSelectOwner =
    "SELECT " RDMANET_LEASE_COLUMNS " FROM leases WHERE container = ?1 AND ifname = ?2 AND network = ?3 ORDER BY slot";
constexpr const char* kSelectPod =
    "SELECT " RDMANET_LEASE_COLUMNS
    " FROM leases WHERE pod = ?1 AND pod <> '' AND ifname = ?2 AND network = ?3 AND container <> ?4";
constexpr const char* kHasOwner = "SELECT 1 FROM leases WHERE container = ?1 AND ifname = ?2 AND network = ?3";
constexpr const char* kHasPod = "SELECT 1 FROM leases WHERE pod = ?1 AND pod <> '' AND ifname = ?2 AND network = ?3";
constexpr const char* kSelectAll = "SELECT " RDMANET_LEASE_COLUMNS " FROM leases ORDER BY space, address";
constexpr const char* kSelectInterval =
    "SELECT " RDMANET_LEASE_COLUMNS
    " FROM leases WHERE space = ?1 AND address BETWEEN ?2 AND ?3 ORDER BY address LIMIT ?4";

#undef RDMANET_LEASE_COLUMNS
#undef RDMANET_LEASE_VALUES

/// Inode numbers use all 64 bits, SQLite's integers are signed.
std::int64_t stored(std::uint64_t number) {
    return static_cast<std::int64_t>(number);
}
std::uint64_t loaded(std::int64_t number) {
    return static_cast<std::uint64_t>(number);
}

Query insertion(Database& database, const char* sql, const Lease& lease) {
    const Owner& owner = lease.owner;
    return database.query(sql, lease.space, AddressKey(lease.address.address()), std::int64_t{lease.address.length()},
                          std::int64_t{lease.slot}, owner.key.network, owner.key.container_id, owner.key.ifname,
                          owner.pod_identity(), owner.pod_namespace, owner.pod_name, owner.pod_uid, owner.netns_path,
                          stored(owner.netns_cookie), stored(owner.netns_inode), stored(owner.pid_view), owner.boot_id,
                          lease.since, std::int64_t{lease.cooldown.count()});
}

Owner owner_in(Query& row) {
    return {.key = {.network = row.text(4), .container_id = row.text(5), .ifname = row.text(6)},
            .pod_namespace = row.text(8),
            .pod_name = row.text(9),
            .pod_uid = row.text(10),
            .netns_path = row.text(11),
            .netns_cookie = loaded(row.integer(12)),
            .netns_inode = loaded(row.integer(13)),
            .pid_view = loaded(row.integer(14)),
            .boot_id = row.text(15)};
}

Lease lease_in(Database& database, Query& row) {
    const std::int64_t length = row.integer(2);
    const std::int64_t slot = row.integer(3);
    const auto address =
        length < 0 || length > 128 ? std::nullopt : base::IpPrefix::make(row.address(1), static_cast<unsigned>(length));
    if (!address || slot < 0 || slot > UINT32_MAX) database.fail_as_damaged("a lease has impossible numbers");
    return {.space = row.text(0),
            .slot = static_cast<unsigned>(slot),
            .address = *address,
            .owner = owner_in(row),
            .since = row.integer(16),
            .cooldown = std::chrono::seconds(row.integer(17))};
}

void append_rows(Database& database, Query query, std::vector<Lease>& leases) {
    while (query.step()) leases.push_back(lease_in(database, query));
}

} // namespace

void LeaseTable::insert(const Lease& lease) {
    (void)insertion(database_, kInsert, lease).run();
}

bool LeaseTable::insert_if_free(const Lease& lease) {
    return insertion(database_, kInsertIfFree, lease).run() != 0;
}

bool LeaseTable::erase(const Lease& lease) {
    const OwnerKey& key = lease.owner.key;
    return database_.run("DELETE FROM leases WHERE space = ?1 AND address = ?2 AND container = ?3 AND ifname = ?4 "
                         "AND network = ?5",
                         lease.space, AddressKey(lease.address.address()), key.container_id, key.ifname,
                         key.network) != 0;
}

bool LeaseTable::set_owner(const Lease& lease, const Owner& owner) {
    const OwnerKey& old = lease.owner.key;
    return database_.run("UPDATE leases SET network = ?6, container = ?7, ifname = ?8, pod = ?9, pod_namespace = ?10, "
                         "pod_name = ?11, pod_uid = ?12, netns_path = ?13, netns_cookie = ?14, netns_inode = ?15, "
                         "pid_namespace_inode = ?16, boot_id = ?17 "
                         "WHERE space = ?1 AND address = ?2 AND container = ?3 AND ifname = ?4 AND network = ?5",
                         lease.space, AddressKey(lease.address.address()), old.container_id, old.ifname, old.network,
                         owner.key.network, owner.key.container_id, owner.key.ifname, owner.pod_identity(),
                         owner.pod_namespace, owner.pod_name, owner.pod_uid, owner.netns_path,
                         stored(owner.netns_cookie), stored(owner.netns_inode), stored(owner.pid_view),
                         owner.boot_id) != 0;
}

std::optional<Lease> LeaseTable::find(const std::string& space, const base::IpAddress& address) {
    Query query = database_.query(kSelectAddress, space, AddressKey(address));
    if (!query.step()) return std::nullopt;
    return lease_in(database_, query);
}

std::vector<Lease> LeaseTable::find_by_owner(const OwnerKey& key) {
    std::vector<Lease> leases;
    append_rows(database_, database_.query(kSelectOwner, key.container_id, key.ifname, key.network), leases);
    return leases;
}

std::vector<Lease> LeaseTable::find_by_pod(const Owner& owner) {
    std::vector<Lease> leases;
    const std::string pod = owner.pod_identity();
    if (pod.empty()) return leases;
    append_rows(database_,
                database_.query(kSelectPod, pod, owner.key.ifname, owner.key.network, owner.key.container_id), leases);
    return leases;
}

bool LeaseTable::has_any_of_pod(const Owner& owner) {
    const OwnerKey& key = owner.key;
    const std::string pod = owner.pod_identity();
    if (database_.query(kHasOwner, key.container_id, key.ifname, key.network).step()) return true;
    return !pod.empty() && database_.query(kHasPod, pod, key.ifname, key.network).step();
}

std::vector<Lease> LeaseTable::list_all() {
    std::vector<Lease> leases;
    append_rows(database_, database_.query(kSelectAll), leases);
    return leases;
}

std::vector<Lease> LeaseTable::list(const Claim& claim, const std::optional<base::IpAddress>& after, std::size_t most) {
    std::vector<Lease> leases;
    for (Interval interval : claim.usable) {
        if (after && after->value() >= interval.last) continue;
        if (after && after->value() >= interval.first) interval.first = after->value() + 1;
        if (leases.size() >= most) break;
        append_rows(database_,
                    database_.query(kSelectInterval, claim.space, AddressKey({claim.family, interval.first}),
                                    AddressKey({claim.family, interval.last}),
                                    static_cast<std::int64_t>(most - leases.size())),
                    leases);
    }
    return leases;
}

std::uint64_t LeaseTable::count(const Claim& claim) {
    std::uint64_t count = 0;
    for (const Interval& interval : claim.usable) {
        Query query =
            database_.query("SELECT count(*) FROM leases WHERE space = ?1 AND address BETWEEN ?2 AND ?3", claim.space,
                            AddressKey({claim.family, interval.first}), AddressKey({claim.family, interval.last}));
        if (query.step()) count += loaded(query.integer(0));
    }
    return count;
}

} // namespace rdmanet::ipam
