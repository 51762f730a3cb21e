// SQLite with owners: a connection, its statements, a transaction. Refusals come out as the errors of this module.
#pragma once

#include "address_key.hpp"

#include <rdmanet/base/deadline.hpp>

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rdmanet::ipam {

class Database;

/// The file was renamed or replaced since it was opened: open it again.
struct DatabaseMoved {};

/// One use of a prepared statement; it is reset afterwards.
class Query {
public:
    Query(Database& database, sqlite3_stmt* statement) : database_(&database), statement_(statement) {}

    template <class... Values>
    void bind_all(const Values&... values) {
        int at = 0;
        (bind(++at, values), ...);
    }
    /// True while there is a row.
    [[nodiscard]] bool step();
    /// For statements without rows; returns how many rows were changed.
    int run();

    /// Columns from 0. Throw DamagedStore if the value has another type.
    [[nodiscard]] std::string text(int column);
    [[nodiscard]] std::int64_t integer(int column);
    [[nodiscard]] base::IpAddress address(int column);

private:
    struct Reset {
        void operator()(sqlite3_stmt* statement) const noexcept;
    };
    void bind(int at, std::string_view text);
    void bind(int at, std::int64_t number);
    void bind(int at, const AddressKey& key);
    void expect_type(int column, int type);

    Database* database_;
    std::unique_ptr<sqlite3_stmt, Reset> statement_;
};

class Database {
public:
    /// An existing regular file. Throws StoreError.
    explicit Database(const std::string& path);
    /// A database in memory, from which a file can be made. `path` is for messages.
    [[nodiscard]] static std::unique_ptr<Database> in_memory(const std::string& path);
    Database(const Database&) = delete;
    Database& operator=(const Database&) = delete;

    /// Until when statements wait for locks.
    void set_deadline(const base::Deadline& deadline) { deadline_ = deadline; }

    /// Prepares `sql` at its first use. It must be a literal, because its address is the key of the prepared statement.
    template <class... Values>
    [[nodiscard]] Query query(const char* sql, const Values&... values) {
        Query query(*this, prepare(sql));
        query.bind_all(values...);
        return query;
    }
    template <class... Values>
    int run(const char* sql, const Values&... values) {
        return query(sql, values...).run();
    }
    void run_script(const char* sql);

    /// The content of a file that holds this database.
    [[nodiscard]] std::string image();

    [[nodiscard]] const std::string& path() const { return path_; }
    [[nodiscard]] int changes() const { return sqlite3_changes(connection_.get()); }
    /// For the holder of the write lock: a journal that is there now was left by a killed process before it counted.
    /// (One that counts was played back and removed on the way to the lock: SQLite, "Hot Rollback Journals".) Its next
    /// transaction that writes would remove it, but there may never be one.
    void remove_cold_journal() const;

    [[nodiscard]] bool in_transaction() const { return sqlite3_get_autocommit(connection_.get()) == 0; }

    /// Throws the error that belongs to the result code.
    [[noreturn]] void fail(int code);
    [[noreturn]] void fail_as_damaged(std::string_view what) const;

private:
    struct Close {
        void operator()(sqlite3* connection) const noexcept { (void)sqlite3_close(connection); }
    };
    struct Finalize {
        void operator()(sqlite3_stmt* statement) const noexcept { (void)sqlite3_finalize(statement); }
    };
    Database(const std::string& name, std::string path, int flags);
    sqlite3_stmt* prepare(const char* sql);
    static int wait_for_lock(void* self, int attempt) noexcept;

    std::string path_;
    base::Deadline deadline_;
    std::unique_ptr<sqlite3, Close> connection_;
    std::vector<std::pair<const char*, std::unique_ptr<sqlite3_stmt, Finalize>>> statements_;
};

/// Rolls back unless committed.
class Transaction {
public:
    enum class Mode : std::uint8_t { read, write, exclusive };
    Transaction(Database& database, Mode mode);
    Transaction(const Transaction&) = delete;
    Transaction& operator=(const Transaction&) = delete;
    ~Transaction();

    void commit();

private:
    Database& database_;
};

} // namespace rdmanet::ipam
