// A file with leases: opened at the first call, made by the first one that needs it, opened again when another process
// has replaced it.
#pragma once

#include "address_pool.hpp"
#include "schema.hpp"
#include "store_file.hpp"

#include <rdmanet/base/error.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

namespace rdmanet::ipam {

class LeaseFile {
public:
    LeaseFile(SqliteStore::Options options, const FileFormat& format)
        : options_(std::move(options)), file_(options_, format) {}

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
    [[nodiscard]] Time now() const { return options_.clock(); }
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
    static bool may_commit(const std::optional<Granted>& granted) { return granted.has_value(); }

    void reopen(const base::Deadline& deadline) {
        if (deadline.passed()) throw base::TimeoutError("waited for a lease store that other processes keep replacing");
        close();
    }

    SqliteStore::Options options_;
    StoreFile file_;
    std::unique_ptr<Database> database_;
    bool is_draft_ = false; // in memory: there was no file
    bool checked_ = false;
};

} // namespace rdmanet::ipam
