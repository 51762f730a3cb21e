// Concatenation for tests. Their texts are JSON, shell and paths, and a format string would have to double all
// braces.
#pragma once

#include <rdmanet/base/format.hpp>

#include <concepts>
#include <string>
#include <string_view>

namespace rdmanet::test {

inline void append_text(std::string& out, std::string_view piece) {
    out.append(piece);
}
inline void append_text(std::string& out, char piece) {
    out.push_back(piece);
}
template <std::integral T>
requires(!std::same_as<T, bool> && !std::same_as<T, char>) void append_text(std::string& out, T number) {
    out.append(std::to_string(number));
}
template <base::HasToString T>
void append_text(std::string& out, const T& value) {
    out.append(value.to_string());
}

/// Joins text, characters, integers, and values with to_string().
template <class... Pieces>
[[nodiscard]] std::string concat(const Pieces&... pieces) {
    std::string out;
    (append_text(out, pieces), ...);
    return out;
}

} // namespace rdmanet::test
