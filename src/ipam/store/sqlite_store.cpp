#include <rdmanet/ipam/store/sqlite_store.hpp>

#include "address_pool.hpp"
#include "schema.hpp"
#include "store_file.hpp"

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

class SqliteStore::Impl {
public:
    explicit Impl(Options options) : options_(std::move(options)), file_(options_) {}

    enum class IfAbsent : std::uint8_t { make, draft, give_nothing };

    /// Runs `act(pool)` in a transaction and returns its result. Without a file it returns a value-initialised Result.
    template <class Result, class Act>
    Result in_transaction(Transaction::Mode mode, IfAbsent if_absent, const base::Deadline& deadline, Act act) {
        for (;;) {
            open(if_absent, deadline);
            if (!database_) return Result();
            try {
                database_->set_deadline(deadline);
                return run<Result>(mode, act);
            } catch (const DatabaseMoved&) {
                reopen(deadline);
            }
        }
    }

    template <class Result, class Act>
    Result read(const base::Deadline& deadline, Act act) {
        return in_transaction<Result>(Transaction::Mode::read, IfAbsent::draft, deadline, act);
    }
    template <class Result, class Act>
    Result write(const base::Deadline& deadline, Act act) {
        return in_transaction<Result>(Transaction::Mode::write, IfAbsent::give_nothing, deadline, act);
    }

    [[nodiscard]] StoreFile& file() { return file_; }
    [[nodiscard]] Database& database() { return *database_; }
    void close() {
        database_.reset();
        is_draft_ = false;
        checked_ = false;
    }

private:
    /// After a draft was read, writing makes the file.
    void open(IfAbsent if_absent, const base::Deadline& deadline) {
        if (database_ && (!is_draft_ || if_absent == IfAbsent::draft)) return;
        const bool make = if_absent == IfAbsent::make || is_draft_;
        close();
        database_ = make ? file_.open_or_make(deadline) : file_.open();
        if (database_ || if_absent != IfAbsent::draft) return;
        database_ = file_.draft();
        checked_ = is_draft_ = database_ != nullptr;
    }

    template <class Result, class Act>
    Result run(Transaction::Mode mode, Act& act) {
        Transaction transaction(*database_, mode);
        if (!checked_) check_format(*database_);
        checked_ = true;
        AddressPool pool(*database_, options_.clock());
        Result result = act(pool);
        if (may_commit(result)) transaction.commit();
        return result;
    }

    template <class Result>
    static bool may_commit(const Result&) {
        return true;
    }
    static bool may_commit(const ReserveOutcome& outcome) { return std::holds_alternative<Granted>(outcome); }

    void reopen(const base::Deadline& deadline) {
        if (deadline.passed()) throw base::TimeoutError("waited for a lease store that other processes keep replacing");
        close();
    }

    Options options_;
    StoreFile file_;
    std::unique_ptr<Database> database_;
    bool is_draft_ = false; // in memory: there was no file
    bool checked_ = false;
};

using Leases = std::vector<Lease>;

SqliteStore::SqliteStore(Options options) : impl_(std::make_unique<Impl>(std::move(options))) {}
SqliteStore::~SqliteStore() = default;

ReserveOutcome SqliteStore::reserve(const Owner& owner, const std::vector<Claim>& claims,
                                    const base::Deadline& deadline) {
    return impl_->in_transaction<ReserveOutcome>(Transaction::Mode::write, Impl::IfAbsent::make, deadline,
                                                 [&](AddressPool& pool) { return pool.reserve(owner, claims); });
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
                                                 [&](AddressPool&) { return find_faults(impl_->database()); });
}

const std::string& SqliteStore::path() const {
    return impl_->file().path();
}

} // namespace rdmanet::ipam
