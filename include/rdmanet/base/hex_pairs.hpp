// Bytes as hexadecimal pairs with ':' between them, the way MACs, GUIDs and other hardware addresses are written.
#pragma once

#include <rdmanet/base/text.hpp>

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace rdmanet::base {

/// Lower case.
[[nodiscard]] std::string hex_pairs(std::span<const unsigned char> bytes);

/// Exactly `kCount` pairs, in either case.
template <std::size_t kCount>
[[nodiscard]] std::optional<std::array<unsigned char, kCount>> parse_hex_pairs(std::string_view text,
                                                                               char separator = ':') {
    if (text.size() != kCount * 3 - 1) return std::nullopt;
    std::array<unsigned char, kCount> bytes{};
    for (std::size_t at = 0; at < kCount; ++at) {
        const auto byte = parse_integer<unsigned char>(text.substr(at * 3, 2), 16);
        if (!byte || (at > 0 && text[at * 3 - 1] != separator)) return std::nullopt;
        bytes.at(at) = *byte;
    }
    return bytes;
}

} // namespace rdmanet::base
