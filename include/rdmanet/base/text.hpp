// Text for messages: concatenation without streams or locales, and quoting of foreign input.
#pragma once

#include <rdmanet/base/format.hpp>

#include <charconv>
#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace rdmanet::base {

inline void append_text(std::string& out, std::string_view piece) {
    out.append(piece);
}
inline void append_text(std::string& out, char piece) {
    out.push_back(piece);
}

template <std::integral T>
requires(!std::same_as<T, bool> && !std::same_as<T, char>) void append_text(std::string& out, T number) {
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
    out.append(digits, end);
}
template <HasToString T>
void append_text(std::string& out, const T& value) {
    out.append(value.to_string());
}

/// The arguments one after the other: text, characters, integers, and values with to_string().
template <class... Pieces>
[[nodiscard]] std::string concat(const Pieces&... pieces) {
    std::string out;
    (append_text(out, pieces), ...);
    return out;
}

/// "SCOPE/NAME", or only the name if there is no scope: podman's pods are in no Kubernetes namespace.
[[nodiscard]] std::string scoped_name(std::string_view scope, std::string_view name);

/// `text` in double quotes, control characters and bytes that are not UTF-8 as \xNN, cut after `most`
/// bytes with "...": what foreign input looks like in a message.
[[nodiscard]] std::string quoted(std::string_view text, std::size_t most = 200);

/// True if `text` is well-formed UTF-8 (RFC 3629): what JSON can hold.
[[nodiscard]] bool is_utf8(std::string_view text);

/// True if `text` is well-formed UTF-8 without control characters.
[[nodiscard]] bool is_printable_utf8(std::string_view text);

/// ASCII case folding, as Go's JSON decoder applies to keys.
[[nodiscard]] bool equals_ignoring_case(std::string_view a, std::string_view b);
[[nodiscard]] std::string to_lower(std::string_view text);

/// All of `text` as a decimal number of type T: no sign for unsigned types, no spaces, no overflow.
template <std::integral T>
[[nodiscard]] std::optional<T> parse_integer(std::string_view text, int radix = 10) {
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, radix);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

} // namespace rdmanet::base
