// Reads and writes optional members and 64-bit numbers (inodes, cookies, node GUIDs) of records. 64-bit numbers are
// written as text, because other JSON readers round numbers above 2^53.
#pragma once

#include <rdmanet/json/reader.hpp>
#include <rdmanet/json/writer.hpp>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rdmanet::state {

/// Throws json::ValueError for a text that std::to_string(number) does not write, for example with leading zeros.
[[nodiscard]] std::uint64_t parse_number_text(const json::Reader& reader);

[[nodiscard]] unsigned parse_ifindex(const json::Reader& reader);

template <class Value>
void write_if(json::Writer& writer, std::string_view key, const std::optional<Value>& value) {
    if (value) writer.member(key, *value);
}

[[nodiscard]] std::optional<std::string> find_string(const json::Reader& reader, std::string_view key);
[[nodiscard]] std::optional<bool> find_boolean(const json::Reader& reader, std::string_view key);

template <class Number>
[[nodiscard]] std::optional<Number> find_number(const json::Reader& reader, std::string_view key) {
    const auto value = reader.find(key);
    if (!value) return std::nullopt;
    return static_cast<Number>(value->integer(0, std::numeric_limits<Number>::max()));
}

/// Reads a text with Value::parse(). `expected` is for the message.
template <class Value>
[[nodiscard]] std::optional<Value> find_value(const json::Reader& reader, std::string_view key,
                                              std::string_view expected) {
    const auto text = reader.find(key);
    if (!text) return std::nullopt;
    const auto value = Value::parse(text->string());
    if (!value) throw text->unexpected(expected);
    return value;
}

void write_texts(json::Writer& writer, std::string_view key, const std::vector<std::string>& texts);
[[nodiscard]] std::vector<std::string> parse_texts(const json::Reader& array);

void write_numbers(json::Writer& writer, std::string_view key, const std::vector<std::uint32_t>& numbers);
[[nodiscard]] std::optional<std::vector<std::uint32_t>> find_numbers(const json::Reader& reader, std::string_view key);

} // namespace rdmanet::state
