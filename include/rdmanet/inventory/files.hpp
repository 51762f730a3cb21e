// Small files that may be absent, or that a driver cannot answer.
#pragma once

#include <rdmanet/base/text.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rdmanet::inventory {

/// The first line of a file; empty if it is absent, or reading it fails: drivers refuse attributes with many errors
/// (EINVAL for the speed of an interface that is down).
[[nodiscard]] std::string line_of(const std::string& path);

template <std::integral T>
[[nodiscard]] std::optional<T> number_of(const std::string& path, int radix = 10) {
    std::string text = line_of(path);
    if (radix == 16 && text.starts_with("0x")) text.erase(0, 2);
    return base::parse_integer<T>(text, radix);
}

/// Names in a directory, sorted; empty if it is absent or must not be read. Reads `most` names at most.
[[nodiscard]] std::vector<std::string> names_in(const std::string& directory, std::size_t most = SIZE_MAX);

/// The last part of a symbolic link's target; empty if it is absent.
[[nodiscard]] std::string link_name_of(const std::string& path);
[[nodiscard]] std::string link_target_of(const std::string& path);

} // namespace rdmanet::inventory
