#include "database.hpp"

#include "lock_holder.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/ipam/errors.hpp>

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <thread>

namespace rdmanet::ipam {
namespace {

using base::quoted;

constexpr int kFlags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_EXRESCODE;

/// Refused once SQLite is in use, which does no harm.
void configure() {
    static const bool is_done = [] {
        // SQLite counts the memory that it has, under one lock of the whole process. Nobody asks for that.
        (void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
        // A connection would begin with room for 20 pages of a file, and touch it all. Ours reads about six.
        (void)sqlite3_config(SQLITE_CONFIG_PAGECACHE, nullptr, 0, 0);
        return true;
    }();
    (void)is_done;
}

bool means_damage(int code) {
    // Our statements never change. One that does not compile, or breaks a constraint, shows that the file is damaged.
    switch (code & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_FORMAT:
    case SQLITE_ERROR:
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH: return true;
    default: return code == SQLITE_IOERR_SHORT_READ;
    }
}

StoreError::Kind kind_of(int code) {
    const int primary = code & 0xff;
    const bool temporary = primary == SQLITE_FULL || primary == SQLITE_NOMEM || primary == SQLITE_IOERR;
    return temporary ? StoreError::Kind::temporary : StoreError::Kind::permanent;
}

} // namespace

Database::Database(const std::string& path) : Database(path, path, kFlags) {}

Database::Database(const std::string& name, std::string path, int flags)
    : path_(std::move(path)), deadline_(base::Deadline::in(std::chrono::milliseconds{0})) {
    configure();
    sqlite3* connection = nullptr;
    const int code = sqlite3_open_v2(name.c_str(), &connection, flags, nullptr);
    connection_.reset(connection); // to be closed even when it could not be opened
    if (code != SQLITE_OK) fail(code);
    (void)sqlite3_busy_handler(connection, wait_for_lock, this);
}

std::unique_ptr<Database> Database::in_memory(const std::string& path) {
    return std::unique_ptr<Database>(new Database(":memory:", path, kFlags | SQLITE_OPEN_MEMORY));
}

int Database::wait_for_lock(void* self, int attempt) noexcept {
    // A transaction takes about 100 us. Waiters look again soon, and less often the longer they wait. Each look takes a
    // dozen system calls, and if many processes wait, as when all pods of a node end, their looks slow down the one with
    // the lock. The interval has a limit, because otherwise new waiters would always come first.
    const auto& database = *static_cast<const Database*>(self);
    if (database.deadline_.passed()) return 0;
    std::this_thread::sleep_for(std::chrono::microseconds(200 + 100 * std::min(attempt, 100)));
    return 1;
}

sqlite3_stmt* Database::prepare(const char* sql) {
    for (const auto& [known, statement] : statements_)
        if (known == sql) return statement.get();
    sqlite3_stmt* statement = nullptr;
    const int code = sqlite3_prepare_v2(connection_.get(), sql, -1, &statement, nullptr);
    if (code != SQLITE_OK) fail(code);
    statements_.emplace_back(sql, statement);
    return statement;
}

void Database::run_script(const char* sql) {
    const int code = sqlite3_exec(connection_.get(), sql, nullptr, nullptr, nullptr);
    if (code != SQLITE_OK) fail(code);
}

std::string Database::image() {
    sqlite3_int64 size = 0;
    struct Free {
        void operator()(unsigned char* memory) const noexcept { sqlite3_free(memory); }
    };
    const std::unique_ptr<unsigned char, Free> bytes(sqlite3_serialize(connection_.get(), "main", &size, 0));
    if (!bytes) fail(SQLITE_NOMEM);
    return {reinterpret_cast<const char*>(bytes.get()), static_cast<std::size_t>(size)};
}

void Database::remove_cold_journal() const {
    (void)::unlink(fmt::format("{}-journal", path_).c_str());
}

void Database::fail(int code) {
    const char* text = connection_ ? sqlite3_errmsg(connection_.get()) : sqlite3_errstr(code);
    if (code == SQLITE_READONLY_DBMOVED) throw DatabaseMoved{};
    if ((code & 0xff) == SQLITE_BUSY)
        throw base::TimeoutError(fmt::format("waited for the lease store {}{}", quoted(path_), lock_holder_of(path_)));
    if (means_damage(code)) fail_as_damaged(text);
    const int errno_value = connection_ ? sqlite3_system_errno(connection_.get()) : 0;
    throw StoreError(kind_of(code),
                     fmt::format("use lease store {}: {}{}", quoted(path_), text,
                                 errno_value != 0 ? fmt::format(" ({})", base::errno_text(errno_value)) : ""));
}

void Database::fail_as_damaged(std::string_view what) const {
    throw DamagedStore(fmt::format("lease store {} is damaged ({}): run \"rdmanet gc\", which moves it aside and "
                                   "rebuilds it from the attachment records",
                                   quoted(path_), what));
}

Transaction::Transaction(Database& database, Mode mode) : database_(database) {
    if (mode == Mode::read) database.run("BEGIN");
    if (mode == Mode::write) database.run("BEGIN IMMEDIATE");
    if (mode == Mode::exclusive) database.run("BEGIN EXCLUSIVE");
    if (mode != Mode::read) database.remove_cold_journal();
}

Transaction::~Transaction() {
    if (!database_.in_transaction()) return;
    try {
        database_.run("ROLLBACK");
    } catch (...) { // closing the connection, or the next process to open the file, rolls back as well
    }
}

void Transaction::commit() {
    database_.run("COMMIT");
}

} // namespace rdmanet::ipam
