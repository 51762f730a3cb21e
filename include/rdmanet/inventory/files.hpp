// Small files that may be absent, or that a driver cannot answer.
#pragma once

#include <rdmanet/base/directory.hpp>
#include <rdmanet/base/text.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rdmanet::inventory {

/// The first page of a file; empty if it is absent, or reading it fails: drivers refuse attributes with many errors
/// (EINVAL for the speed of an interface that is down).
[[nodiscard]] std::string page_of(const std::string& path);
/// The first line in it.
[[nodiscard]] std::string line_of(const std::string& path);
using base::link_target_of;

template <std::integral T>
[[nodiscard]] std::optional<T> number_of(const std::string& path, int radix = 10) {
    std::string text = line_of(path);
    if (radix == 16 && text.starts_with("0x")) text.erase(0, 2);
    return base::parse_integer<T>(text, radix);
}

/// Names in a directory without the hidden ones, sorted; empty if it is absent or must not be read. Reads `most`
/// names at most.
[[nodiscard]] std::vector<std::string> names_in(const std::string& path, std::size_t most = SIZE_MAX);

/// The last part of a symbolic link's target; empty if it is absent.
[[nodiscard]] std::string link_name_of(const std::string& path);

} // namespace rdmanet::inventory
