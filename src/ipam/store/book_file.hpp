// The file of a LeaseBook: read as a whole, replaced as a whole.
#pragma once

#include "directory_lock.hpp"
#include "lease_book.hpp"

#include <rdmanet/ipam/store/lease_file.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

namespace rdmanet::ipam {

/// Each call throws DamagedStore, base::TimeoutError, and StoreError for what the file system refuses.
class BookFile {
public:
    BookFile(LeaseFile::Options options, const std::string& name);

    /// Of the file, otherwise of the known leases.
    [[nodiscard]] LeaseBook read();

    enum class IfAbsent : std::uint8_t { make, give_nothing };

    /// Runs `act(book)` while no other process changes the file. What it has changed is written, if the result is one
    /// that may be kept. Without a file that is to be made, returns a value-initialised Result.
    template <class Result, class Act>
    Result change(IfAbsent if_absent, const base::Deadline& deadline, Act act) {
        const bool may_be_absent = if_absent == IfAbsent::give_nothing && !has_read_known_;
        if (may_be_absent && !has_directory()) return Result();
        const DirectoryLock lock = lock_directory(deadline);
        // Who has the lock may have been making the file.
        if (may_be_absent && !is_there()) {
            remove_unfinished();
            return Result();
        }
        LeaseBook book = read();
        Result result = act(book);
        if (may_keep(result) && book.is_changed())
            write(book);
        else
            remove_unfinished();
        return result;
    }

    /// LeaseFile::tidy().
    void tidy(const base::Deadline& deadline) const;

    /// LeaseFile::repair().
    [[nodiscard]] std::optional<std::string> repair(const base::Deadline& deadline);

    [[nodiscard]] const std::string& path() const { return path_; }
    [[nodiscard]] bool is_there() const;

private:
    template <class Result>
    static bool may_keep(const Result&) {
        return true;
    }
    static bool may_keep(const ReserveOutcome& outcome) { return std::holds_alternative<Granted>(outcome); }
    static bool may_keep(const std::optional<Granted>& granted) { return granted.has_value(); }

    [[nodiscard]] bool has_directory() const;
    [[nodiscard]] DirectoryLock lock_directory(const base::Deadline& deadline) const;
    [[nodiscard]] std::optional<LeaseBook> find() const;
    [[nodiscard]] LeaseBook of_known_leases() const;
    void write(const LeaseBook& book) const;
    void remove_unfinished() const;

    LeaseFile::Options options_;
    std::string path_;
    bool has_read_known_ = false; // instead of a file
};

} // namespace rdmanet::ipam
