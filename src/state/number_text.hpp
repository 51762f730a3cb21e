// Numbers of 64 bits in the journal: inodes, cookies, node GUIDs. They are written as text, because JSON readers
// elsewhere round numbers above 2^53.
#pragma once

#include <rdmanet/json/reader.hpp>

#include <cstdint>

namespace rdmanet::state {

/// Throws json::ValueError for anything that base::concat(number) would not have written, leading zeros among it.
[[nodiscard]] std::uint64_t parse_number_text(const json::Reader& reader);

} // namespace rdmanet::state
