// Reads the lease database through SQLite, without the plugin's code, and reports whether it is sound.
#pragma once

#include <string>
#include <vector>

namespace rdmanet::test {

/// "lease: ..." for each lease, and "lease database: ..." for each fault of the file. Reading repairs nothing: the
/// file is opened read-only. If a journal must be played back first, a copy is opened. Empty if the file does not
/// exist.
[[nodiscard]] std::vector<std::string> lease_lines(const std::string& path);

/// As if what the file says about blocks were a minute older. Whether a request for one may be on its way. Without a
/// file nothing is done. Throws base::Error.
bool let_a_minute_pass_for_blocks(const std::string& path);

/// Deletes all leases from the database, as only a person would do it. Throws base::Error.
void forget_leases(const std::string& path);

} // namespace rdmanet::test
