// Character rules of container IDs and network names (CNI specification, section 2).
#pragma once

#include <algorithm>
#include <string_view>

namespace rdmanet::cni {

inline constexpr std::string_view kIdentifierRules =
    "letters, digits, '_', '.' and '-', beginning with a letter or digit";

[[nodiscard]] inline bool is_identifier(std::string_view text) {
    const auto is_alphanumeric = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    };
    return !text.empty() && is_alphanumeric(text.front()) && std::all_of(text.begin(), text.end(), [&](char c) {
        return is_alphanumeric(c) || c == '_' || c == '.' || c == '-';
    });
}

} // namespace rdmanet::cni
