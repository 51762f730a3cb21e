#include "store_file.hpp"

#include "address_pool.hpp"
#include "directory_lock.hpp"
#include "schema.hpp"

#include <rdmanet/base/file.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

namespace rdmanet::ipam {
namespace {

using base::quoted;

enum class Presence { absent, regular, other };

Presence presence_of(const std::string& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) == 0) return S_ISREG(status.st_mode) ? Presence::regular : Presence::other;
    if (errno == ENOENT || errno == ENOTDIR) return Presence::absent;
    throw base::SystemError(fmt::format("look for lease store {}", quoted(path)), errno);
}

/// Runs `act`, which looks at files or changes them.
template <class Act>
auto in_files(const Act& act) try {
    return act();
} catch (const base::SystemError& error) {
    const bool may_pass = base::is_shortage(error.errno_value());
    throw StoreError(may_pass ? StoreError::Kind::temporary : StoreError::Kind::permanent,
                     fmt::format("lease store: {}", error.what()));
}

std::string journal_of(const std::string& path) {
    return fmt::format("{}-journal", path);
}

/// The caller has made sure that `to` does not exist. Absence of `from` is success.
void rename_if_present(const std::string& from, const std::string& to) {
    if (::rename(from.c_str(), to.c_str()) != 0 && errno != ENOENT)
        throw base::SystemError(fmt::format("rename {} to {}", quoted(from), quoted(to)), errno);
}

std::string free_name(const std::string& path, std::int64_t now) {
    std::string name = fmt::format("{}.corrupt-{}", path, now);
    for (int attempt = 2; ::access(name.c_str(), F_OK) == 0; ++attempt)
        name = fmt::format("{}.corrupt-{}-{}", path, now, attempt);
    return name;
}

/// Leaves the exclusive lock in `lock`, if the file is whole enough to be locked.
bool is_damaged(Database& database, const FileFormat& format, std::optional<Transaction>& lock) try {
    lock.emplace(database, Transaction::Mode::exclusive);
    check_format(database);
    return !find_faults(database, format).empty();
} catch (const DamagedStore&) {
    return true;
}

} // namespace

StoreFile::StoreFile(const SqliteStore::Options& options, const FileFormat& format)
    : options_(options), format_(format), path_(fmt::format("{}/{}", options.state_directory, format.name)) {}

std::unique_ptr<Database> StoreFile::open() const {
    switch (in_files([&] { return presence_of(path_); })) {
    case Presence::absent: return nullptr;
    case Presence::regular: return std::make_unique<Database>(path_);
    case Presence::other: break;
    }
    Database::in_memory(path_)->fail_as_damaged("it is not a regular file");
}

std::unique_ptr<Database> StoreFile::open_or_make(const base::Deadline& deadline) const {
    auto database = open();
    if (database) return database;
    make(deadline);
    return std::make_unique<Database>(path_);
}

std::unique_ptr<Database> StoreFile::draft() const {
    const auto known = known_leases();
    return known.empty() ? nullptr : new_database(known);
}

std::vector<Lease> StoreFile::known_leases() const {
    return options_.known_leases ? options_.known_leases() : std::vector<Lease>{};
}

std::unique_ptr<Database> StoreFile::new_database(const std::vector<Lease>& known) const {
    auto database = Database::in_memory(path_);
    create_schema(*database);
    database->run_script(format_.more_tables);
    if (format_.note_place != nullptr) format_.note_place(*database, options_.state_directory);
    AddressPool(*database, options_.clock())
        .restore(known); // without a transaction, which takes a file's cold journal away
    return database;
}

std::string StoreFile::new_image() const {
    return new_database(known_leases())->image();
}

void StoreFile::make(const base::Deadline& deadline) const {
    in_files([&] {
        base::make_directories(options_.state_directory);
        const DirectoryLock lock(options_.state_directory, deadline);
        if (presence_of(path_) != Presence::absent) return;
        const std::string image = new_image();
        // A journal without its file would be played back into the new one.
        base::remove_file_durably(journal_of(path_));
        base::create_file_durably(path_, image);
    });
}

std::string StoreFile::move_aside() const {
    std::string aside = free_name(path_, options_.clock().epoch);
    // The journal first, for the same reason: killed in between, a damaged file without journal is left.
    rename_if_present(journal_of(path_), journal_of(aside));
    rename_if_present(path_, aside);
    return aside;
}

std::string StoreFile::replace() const {
    const std::string image = new_image();
    std::string aside = move_aside();
    base::create_file_durably(path_, image);
    return aside;
}

std::optional<std::string> StoreFile::repair(const base::Deadline& deadline) const {
    return in_files([&]() -> std::optional<std::string> {
        if (presence_of(path_) == Presence::absent) return std::nullopt;
        const DirectoryLock directory_lock(options_.state_directory, deadline);
        if (presence_of(path_) == Presence::other) return replace();
        const auto database = open();
        if (!database) return std::nullopt; // moved by another process in the meantime
        database->set_deadline(deadline);
        std::optional<Transaction> lock;
        if (!is_damaged(*database, format_, lock)) return std::nullopt;
        return replace();
    });
}

std::vector<std::string> find_faults(Database& database, const FileFormat& format) {
    std::vector<std::string> faults;
    Query check = database.query("PRAGMA integrity_check(10)");
    while (check.step())
        if (std::string fault = check.text(0); fault != "ok") faults.push_back(std::move(fault));
    AddressPool pool(database, {});
    (void)pool.leases().list_all(); // each row makes sense
    if (!pool.is_consistent()) faults.push_back("the runs of taken addresses are not those of the leases");
    if (format.read_more_tables != nullptr) format.read_more_tables(database);
    return faults;
}

} // namespace rdmanet::ipam
