// Text for messages: quoting of foreign input, UTF-8, numbers, bytes.
#pragma once

#include <array>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace rdmanet::base {

/// "1 lease", "2 leases".
[[nodiscard]] std::string counted(std::size_t number, std::string_view one, std::string_view several);

/// The texts with `separator` between them. `text_of` makes a text, or something with to_string(), of each value.
template <class Values, class TextOf = std::identity>
[[nodiscard]] std::string join(const Values& values, std::string_view separator = ", ", const TextOf& text_of = {}) {
    std::string joined;
    bool is_first = true;
    for (const auto& value : values) {
        if (!std::exchange(is_first, false)) joined += separator;
        if constexpr (requires { std::invoke(text_of, value).to_string(); })
            joined += std::invoke(text_of, value).to_string();
        else
            joined += std::invoke(text_of, value);
    }
    return joined;
}

/// "SCOPE/NAME", or only the name if the scope is empty: podman's pods have no Kubernetes namespace.
[[nodiscard]] std::string scoped_name(std::string_view scope, std::string_view name);

/// `text` in double quotes, as messages show foreign input. Control characters and bytes that are not UTF-8 become
/// \xNN. After `most` bytes it is cut and "..." follows.
[[nodiscard]] std::string quoted(std::string_view text, std::size_t most = 200);

/// `text`, or its first `most` bytes at most, without a part of a UTF-8 sequence, and "...".
[[nodiscard]] std::string shortened(std::string text, std::size_t most);

/// `text` as one word of a shell's command: in single quotes if it needs them. Use it for foreign names in fixes.
[[nodiscard]] std::string shell_word(std::string_view text);

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

/// Bytes as lower-case hexadecimal pairs with ':' between them, as MACs, GUIDs and other hardware addresses are
/// written.
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

/// Whether an object of Kubernetes may have that name: each part between two dots begins and ends with a letter or a
/// digit (RFC 1123; apimachinery, validation.IsDNS1123Subdomain()).
[[nodiscard]] bool is_name_of_object(std::string_view name);

} // namespace rdmanet::base
