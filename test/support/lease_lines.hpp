// Reads and changes the files of leases without the plugin's code (their format: src/ipam/store/lease_book_text.cpp).
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace rdmanet::test {

/// "lease: ..." for each lease, and "lease file: ..." if the file is damaged. Empty if it does not exist.
[[nodiscard]] std::vector<std::string> lease_lines(const std::string& path);

/// Writes each line as `edit` returns it, or leaves it out where that is empty.
void edit_leases(const std::string& path, const std::function<std::string(const std::string& line)>& edit);

/// Deletes all leases from the file, as only a person would do it.
void forget_leases(const std::string& path);

/// The fields of the lines of that kind: "lease", "rest", "range", "block".
[[nodiscard]] std::vector<std::vector<std::string>> rows_of(const std::string& path, const std::string& kind);

} // namespace rdmanet::test
