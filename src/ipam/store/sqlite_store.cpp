#include <rdmanet/ipam/store/sqlite_store.hpp>

#include "lease_file.hpp"

#include <ctime>
#include <utility>

namespace rdmanet::ipam {

Time system_time() {
    timespec boot{};
    timespec epoch{};
    (void)::clock_gettime(CLOCK_BOOTTIME, &boot);
    (void)::clock_gettime(CLOCK_REALTIME, &epoch);
    return {.boot = boot.tv_sec, .epoch = epoch.tv_sec};
}

namespace {

constexpr FileFormat kFormat{.name = "leases.sqlite", .more_tables = ""};

} // namespace

class SqliteStore::Impl : public LeaseFile {
public:
    explicit Impl(Options options) : LeaseFile(std::move(options), kFormat) {}
};

using Leases = std::vector<Lease>;

SqliteStore::SqliteStore(Options options) : impl_(std::make_unique<Impl>(std::move(options))) {}
SqliteStore::~SqliteStore() = default;

ReserveOutcome SqliteStore::reserve(const Owner& owner, const std::vector<Claim>& claims,
                                    const base::Deadline& deadline) {
    return impl_->in_transaction<ReserveOutcome>(Transaction::Mode::write, Impl::IfAbsent::make, deadline,
                                                 [&](AddressPool& pool) { return pool.reserve(owner, claims); });
}

std::optional<Granted> SqliteStore::reserve_at_once(const Owner& owner, const std::vector<Claim>& claims,
                                                    const base::Deadline& deadline) {
    return impl_->in_transaction<std::optional<Granted>>(
        Transaction::Mode::write, Impl::IfAbsent::make, deadline,
        [&](AddressPool& pool) { return pool.reserve_at_once(owner, claims); });
}

std::vector<Lease> SqliteStore::release(const OwnerKey& key, const base::Deadline& deadline) {
    return impl_->write<Leases>(deadline,
                                [&](AddressPool& pool) { return pool.release(pool.leases().find_by_owner(key)); });
}

std::vector<Lease> SqliteStore::withdraw(const OwnerKey& key, const std::vector<Lease>& unused,
                                         const base::Deadline& deadline) {
    return impl_->write<Leases>(
        deadline, [&](AddressPool& pool) { return pool.release(pool.leases().find_by_owner(key), unused); });
}

std::vector<Lease> SqliteStore::reclaim(const std::vector<Lease>& leases, const base::Deadline& deadline) {
    return impl_->write<Leases>(deadline, [&](AddressPool& pool) { return pool.release(leases); });
}

std::vector<Lease> SqliteStore::adopt(const std::vector<Lease>& leases, const Owner& heir,
                                      const base::Deadline& deadline) {
    return impl_->write<Leases>(deadline, [&](AddressPool& pool) { return pool.adopt(leases, heir); });
}

std::vector<Regained> SqliteStore::regain(const std::vector<Lease>& leases, const base::Deadline& deadline) {
    using All = std::vector<Regained>;
    return impl_->in_transaction<All>(Transaction::Mode::write, Impl::IfAbsent::make, deadline, [&](AddressPool& pool) {
        All all;
        for (const Lease& lease : leases) all.push_back(pool.regain(lease));
        return all;
    });
}

std::vector<Lease> SqliteStore::find(const OwnerKey& key, const base::Deadline& deadline) {
    return impl_->read<Leases>(deadline, [&](AddressPool& pool) { return pool.leases().find_by_owner(key); });
}

std::vector<Lease> SqliteStore::find_predecessors(const Owner& owner, const base::Deadline& deadline) {
    return impl_->read<Leases>(deadline, [&](AddressPool& pool) { return pool.leases().find_by_pod(owner); });
}

std::vector<Lease> SqliteStore::list(const Claim& claim, const std::optional<base::IpAddress>& after, std::size_t most,
                                     const base::Deadline& deadline) {
    return impl_->read<Leases>(deadline, [&](AddressPool& pool) { return pool.leases().list(claim, after, most); });
}

std::vector<Lease> SqliteStore::list_all(const base::Deadline& deadline) {
    return impl_->read<Leases>(deadline, [&](AddressPool& pool) { return pool.leases().list_all(); });
}

bool SqliteStore::has_free(const Claim& claim, const base::Deadline& deadline) {
    if (claim.usable.empty()) return false;
    const bool is_full = impl_->read<bool>(deadline, [&](AddressPool& pool) { return !pool.has_free(claim); });
    return !is_full; // without a file nothing is taken
}

Usage SqliteStore::usage(const Claim& claim, const base::Deadline& deadline) {
    return impl_->read<Usage>(deadline, [&](AddressPool& pool) { return pool.usage(claim); });
}

std::size_t SqliteStore::restore(const std::vector<Lease>& leases, const base::Deadline& deadline) {
    return impl_->in_transaction<std::size_t>(Transaction::Mode::write, Impl::IfAbsent::make, deadline,
                                              [&](AddressPool& pool) { return pool.restore(leases); });
}

std::optional<std::string> SqliteStore::repair(const base::Deadline& deadline) {
    impl_->close();
    return impl_->file().repair(deadline);
}

std::vector<std::string> SqliteStore::verify(const base::Deadline& deadline) {
    return impl_->read<std::vector<std::string>>(deadline,
                                                 [&](AddressPool&) { return find_faults(impl_->database(), kFormat); });
}

const std::string& SqliteStore::path() const {
    return impl_->file().path();
}

} // namespace rdmanet::ipam
