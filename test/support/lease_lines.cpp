#include "support/lease_lines.hpp"
#include "support/concat.hpp"
#include "support/directory.hpp"

#include <rdmanet/base/error.hpp>

#include <sqlite3.h>

#include <exception>
#include <filesystem>
#include <memory>

namespace rdmanet::test {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kPageSize = 4096;
constexpr int kPatienceMs = 5000;

struct Close {
    void operator()(sqlite3* connection) const noexcept { (void)sqlite3_close(connection); }
};
struct Finalize {
    void operator()(sqlite3_stmt* statement) const noexcept { (void)sqlite3_finalize(statement); }
};

std::string hex(const void* bytes, int size) {
    constexpr const char* digits = "0123456789abcdef";
    std::string text;
    for (const auto* at = static_cast<const unsigned char*>(bytes); size > 0; ++at, --size) {
        text += digits[*at >> 4U];
        text += digits[*at & 15U];
    }
    return text;
}

class Reader {
public:
    Reader(const std::string& path, int flags) {
        sqlite3* connection = nullptr;
        const int code = sqlite3_open_v2(path.c_str(), &connection, flags, nullptr);
        connection_.reset(connection);
        expect(code, SQLITE_OK);
        (void)sqlite3_busy_timeout(connection, kPatienceMs);
    }

    /// The rows, each with its columns as text.
    [[nodiscard]] std::vector<std::string> rows(const char* sql) {
        sqlite3_stmt* prepared = nullptr;
        expect(sqlite3_prepare_v2(connection_.get(), sql, -1, &prepared, nullptr), SQLITE_OK);
        const std::unique_ptr<sqlite3_stmt, Finalize> statement(prepared);
        std::vector<std::string> rows;
        for (;;) {
            const int code = sqlite3_step(prepared);
            if (code == SQLITE_DONE) return rows;
            expect(code, SQLITE_ROW);
            rows.push_back(row_of(prepared));
        }
    }

private:
    void expect(int code, int wanted) const {
        if (code != wanted) throw base::Error(sqlite3_errmsg(connection_.get()));
    }

    static std::string row_of(sqlite3_stmt* statement) {
        std::string row;
        for (int column = 0; column < sqlite3_column_count(statement); ++column) {
            if (column > 0) row += ' ';
            if (sqlite3_column_type(statement, column) == SQLITE_BLOB)
                row += hex(sqlite3_column_blob(statement, column), sqlite3_column_bytes(statement, column));
            else if (const unsigned char* text = sqlite3_column_text(statement, column))
                row += reinterpret_cast<const char*>(text);
        }
        return row;
    }

    std::unique_ptr<sqlite3, Close> connection_;
};

/// If a run of taken addresses begins or ends with an address that is not taken, nobody gets this address any more.
/// If a lease is outside of all runs, a second attachment gets its address.
constexpr const char* kRunsOfNothing = R"sql(
WITH taken AS (SELECT space, address FROM leases UNION SELECT space, address FROM cooling)
SELECT space, first, last FROM runs
WHERE (space, first) NOT IN taken OR (space, last) NOT IN taken
)sql";
constexpr const char* kLeasesOutsideOfRuns = R"sql(
SELECT space, address FROM leases WHERE NOT EXISTS
  (SELECT 1 FROM runs WHERE runs.space = leases.space AND address BETWEEN first AND last)
)sql";

/// A killed writer leaves a rollback journal, which the next process plays back before it reads. This class does so
/// in a copy.
class PlayedBackCopy {
public:
    explicit PlayedBackCopy(const std::string& path) {
        fs::copy_file(path, this->path());
        fs::copy_file(journal_of(path), journal_of(this->path()));
    }
    [[nodiscard]] std::string path() const { return directory_.file("leases.sqlite"); }
    [[nodiscard]] static std::string journal_of(const std::string& path) { return path + "-journal"; }

private:
    Directory directory_;
};

void add_content(std::vector<std::string>& lines, Reader reader) {
    for (const std::string& row : reader.rows("PRAGMA integrity_check(5)"))
        if (row != "ok") lines.push_back(concat("lease database: ", row));
    for (const std::string& row : reader.rows("SELECT * FROM leases")) lines.push_back(concat("lease: ", row));
    for (const std::string& row : reader.rows(kRunsOfNothing))
        lines.push_back(concat("lease database: taken by nobody: ", row));
    for (const std::string& row : reader.rows(kLeasesOutsideOfRuns))
        lines.push_back(concat("lease database: leased and in no run: ", row));
}

} // namespace

std::vector<std::string> lease_lines(const std::string& path) {
    std::vector<std::string> lines;
    if (!fs::exists(path)) return lines;
    // SQLite takes an empty file for a new database, and a missing part of the last page for zeros.
    const std::uintmax_t size = fs::is_regular_file(path) ? fs::file_size(path) : 0;
    if (size == 0 || size % kPageSize != 0) lines.push_back(concat("lease database: is cut short at ", size, " bytes"));
    try {
        if (fs::exists(PlayedBackCopy::journal_of(path)))
            add_content(lines, Reader(PlayedBackCopy(path).path(), SQLITE_OPEN_READWRITE));
        else
            add_content(lines, Reader(path, SQLITE_OPEN_READONLY));
    } catch (const std::exception& error) {
        lines.push_back(concat("lease database: ", error.what()));
    }
    return lines;
}

bool let_a_minute_pass_for_blocks(const std::string& path) {
    if (!fs::exists(path) || fs::file_size(path) == 0) return false;
    Reader database(path, SQLITE_OPEN_READWRITE);
    (void)database.rows("UPDATE blocks SET since = since - 60");
    return !database.rows("SELECT first FROM blocks WHERE state IN (0, 2)").empty(); // claiming, closed
}

void forget_leases(const std::string& path) {
    Reader database(path, SQLITE_OPEN_READWRITE);
    for (const char* table : {"leases", "cooling", "runs"}) (void)database.rows(concat("DELETE FROM ", table).c_str());
}

} // namespace rdmanet::test
