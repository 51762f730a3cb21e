// The file leases.sqlite as a whole: put in place, checked, moved aside. A file is never seen half made: it appears
// by rename, complete with what it should know from the start.
#pragma once

#include "database.hpp"

#include <rdmanet/ipam/store/sqlite_store.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rdmanet::ipam {

/// What tells one kind of file from another.
struct FileFormat {
    const char* name;        // in the state directory
    const char* more_tables; // SQL for a new file, beyond the tables of leases
    /// Reads these tables, in a transaction. Throws DamagedStore if a row makes no sense.
    void (*read_more_tables)(Database& database) = nullptr;
    /// What the tables of a new file say of its place.
    void (*note_place)(Database& database, const std::string& state_directory) = nullptr;
};

class StoreFile {
public:
    StoreFile(const SqliteStore::Options& options, const FileFormat& format);

    [[nodiscard]] const std::string& path() const { return path_; }

    /// nullptr if there is none.
    [[nodiscard]] std::unique_ptr<Database> open() const;
    /// Makes the file with the known leases, unless another process has just made it.
    [[nodiscard]] std::unique_ptr<Database> open_or_make(const base::Deadline& deadline) const;

    /// What open_or_make() would put into a new file, in memory; nullptr if that is nothing.
    [[nodiscard]] std::unique_ptr<Database> draft() const;

    /// SqliteStore::repair().
    [[nodiscard]] std::optional<std::string> repair(const base::Deadline& deadline) const;

private:
    void make(const base::Deadline& deadline) const;
    [[nodiscard]] std::string replace() const;
    [[nodiscard]] std::string move_aside() const;
    [[nodiscard]] std::vector<Lease> known_leases() const;
    [[nodiscard]] std::unique_ptr<Database> new_database(const std::vector<Lease>& known) const;
    [[nodiscard]] std::string new_image() const;

    const SqliteStore::Options& options_;
    const FileFormat& format_;
    std::string path_;
};

/// What is inconsistent, one sentence each. Within a transaction.
[[nodiscard]] std::vector<std::string> find_faults(Database& database, const FileFormat& format);

} // namespace rdmanet::ipam
