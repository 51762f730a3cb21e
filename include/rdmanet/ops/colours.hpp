// Colours of a terminal for verdicts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rdmanet::ops {

enum class Colours : std::uint8_t { no, yes };

enum class Colour : std::uint8_t { good, doubtful, bad };

/// `text` in bold green, yellow or red (ECMA-48, SGR), or as it is.
[[nodiscard]] std::string painted(std::string_view text, Colour colour, Colours colours);

} // namespace rdmanet::ops
