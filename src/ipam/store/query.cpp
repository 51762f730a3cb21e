#include "database.hpp"

#include <rdmanet/base/format.hpp>

namespace rdmanet::ipam {

void Query::Reset::operator()(sqlite3_stmt* statement) const noexcept {
    (void)sqlite3_reset(statement); // repeats the error of the last step
    (void)sqlite3_clear_bindings(statement);
}

bool Query::step() {
    const int code = sqlite3_step(statement_.get());
    if (code != SQLITE_ROW && code != SQLITE_DONE) database_->fail(code);
    return code == SQLITE_ROW;
}

int Query::run() {
    while (step()) {
    }
    return database_->changes();
}

void Query::bind(int at, std::string_view text) {
    // The data() of an empty string_view may be a null pointer, which SQLite would bind as NULL.
    const char* begin = text.empty() ? "" : text.data();
    const int code = sqlite3_bind_text64(statement_.get(), at, begin, text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
    if (code != SQLITE_OK) database_->fail(code);
}

void Query::bind(int at, std::int64_t number) {
    const int code = sqlite3_bind_int64(statement_.get(), at, number);
    if (code != SQLITE_OK) database_->fail(code);
}

void Query::bind(int at, const AddressKey& key) {
    const auto bytes = key.bytes();
    const int code = sqlite3_bind_blob64(statement_.get(), at, bytes.data(), bytes.size(), SQLITE_TRANSIENT);
    if (code != SQLITE_OK) database_->fail(code);
}

void Query::expect_type(int column, int type) {
    if (sqlite3_column_type(statement_.get(), column) == type) return;
    database_->fail_as_damaged(
        fmt::format("column {} has another type", sqlite3_column_name(statement_.get(), column)));
}

std::string Query::text(int column) {
    expect_type(column, SQLITE_TEXT);
    const auto* begin = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
    if (begin == nullptr) database_->fail(SQLITE_NOMEM);
    return {begin, static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

std::int64_t Query::integer(int column) {
    expect_type(column, SQLITE_INTEGER);
    return sqlite3_column_int64(statement_.get(), column);
}

base::IpAddress Query::address(int column) {
    expect_type(column, SQLITE_BLOB);
    const auto* begin = static_cast<const char*>(sqlite3_column_blob(statement_.get(), column));
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column));
    const auto address = AddressKey::parse(std::string_view(begin, begin == nullptr ? 0 : size));
    if (!address) database_->fail_as_damaged("an address has neither four nor sixteen bytes");
    return *address;
}

} // namespace rdmanet::ipam
