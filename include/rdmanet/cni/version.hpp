// Versions of the CNI specification.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rdmanet::cni {

enum class SpecVersion : std::uint8_t { v0_1_0, v0_2_0, v0_3_0, v0_3_1, v0_4_0, v1_0_0, v1_1_0 };

inline constexpr std::array<std::string_view, 7> kVersionTexts = {"0.1.0", "0.2.0", "0.3.0", "0.3.1",
                                                                  "0.4.0", "1.0.0", "1.1.0"};
inline constexpr std::string_view kNewestVersion = kVersionTexts.back();

[[nodiscard]] constexpr std::string_view to_string(SpecVersion version) {
    return kVersionTexts[static_cast<std::size_t>(version)];
}

/// Exact match, as in the Go library: "1.0" is not a version. Empty text is 0.1.0.
[[nodiscard]] std::optional<SpecVersion> parse_version(std::string_view text);

/// "0.1.0, 0.2.0, ..."
[[nodiscard]] std::string supported_versions_text();

} // namespace rdmanet::cni
