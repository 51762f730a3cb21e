// The lease database as SQLite shows it, without the plugin's code: what is in it, and whether it is whole.
#pragma once

#include <string>
#include <vector>

namespace rdmanet::test {

/// "lease: …" for each lease, "lease database: …" for whatever is wrong with the file. Nothing is repaired by looking:
/// it is opened for reading only, or a copy is, where a journal must be played back first. Empty if there is no such
/// file.
[[nodiscard]] std::vector<std::string> lease_lines(const std::string& path);

/// Takes all leases out of the database, as nobody but somebody's hand does. Throws base::Error.
void forget_leases(const std::string& path);

} // namespace rdmanet::test
