#include <rdmanet/state/members.hpp>

#include <rdmanet/base/text.hpp>

namespace rdmanet::state {

std::uint64_t parse_number_text(const json::Reader& reader) {
    const std::string text = reader.string();
    const auto number = base::parse_integer<std::uint64_t>(text);
    if (!number || std::to_string(*number) != text)
        throw reader.unexpected("a decimal number in quotes, without leading zeros");
    return *number;
}

unsigned parse_ifindex(const json::Reader& reader) {
    return static_cast<unsigned>(reader.integer(0, INT32_MAX));
}

std::optional<std::string> find_string(const json::Reader& reader, std::string_view key) {
    const auto value = reader.find(key);
    return value ? std::optional(value->string()) : std::nullopt;
}

std::optional<bool> find_boolean(const json::Reader& reader, std::string_view key) {
    const auto value = reader.find(key);
    return value ? std::optional(value->boolean()) : std::nullopt;
}

void write_texts(json::Writer& writer, std::string_view key, const std::vector<std::string>& texts) {
    writer.key(key).begin_array();
    for (const std::string& text : texts) writer.value(text);
    writer.end_array();
}

std::vector<std::string> parse_texts(const json::Reader& array) {
    std::vector<std::string> texts;
    for (const json::Reader& text : array.elements()) texts.push_back(text.string());
    return texts;
}

void write_numbers(json::Writer& writer, std::string_view key, const std::vector<std::uint32_t>& numbers) {
    writer.key(key).begin_array();
    for (const std::uint32_t number : numbers) writer.value(number);
    writer.end_array();
}

std::optional<std::vector<std::uint32_t>> find_numbers(const json::Reader& reader, std::string_view key) {
    const auto found = reader.find(key);
    if (!found) return std::nullopt;
    std::vector<std::uint32_t> numbers;
    for (const json::Reader& number : found->elements())
        numbers.push_back(static_cast<std::uint32_t>(number.integer(0, UINT32_MAX)));
    return numbers;
}

} // namespace rdmanet::state
