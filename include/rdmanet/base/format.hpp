// fmt for messages: fmt::format("VF {} has no net device", address) takes text, integers, and every type of ours that
// has a to_string(). The compiler checks the format string. Text passes byte for byte, valid UTF-8 or not, so
// formatting throws std::bad_alloc and nothing else. Use quoted() for foreign input.
#pragma once

#include <fmt/core.h>

#include <concepts>
#include <string_view>

namespace rdmanet::base {

template <class T>
concept HasToString = requires(const T& value) {
    { value.to_string() } -> std::convertible_to<std::string_view>;
};
/// Enums and plain structs have a function to_string() in their namespace. So has fmt for its own strings.
template <class T>
concept IsNamedByToString = !std::constructible_from<fmt::string_view, const T&> && requires(const T& value) {
    { to_string(value) } -> std::convertible_to<std::string_view>;
};

/// Writes `text` as it is.
fmt::appender write_text(fmt::appender out, std::string_view text);

} // namespace rdmanet::base

/// "{}" only: a width or an alignment does not compile.
template <class T>
requires rdmanet::base::HasToString<T> || rdmanet::base::IsNamedByToString<T>
struct fmt::formatter<T> {
    constexpr auto parse(fmt::format_parse_context& context) { return context.begin(); }

    auto format(const T& value, fmt::format_context& context) const {
        if constexpr (rdmanet::base::HasToString<T>)
            return rdmanet::base::write_text(context.out(), value.to_string());
        else
            return rdmanet::base::write_text(context.out(), to_string(value));
    }
};
