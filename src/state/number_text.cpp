#include "number_text.hpp"

#include <rdmanet/base/text.hpp>

#include <string>

namespace rdmanet::state {

std::uint64_t parse_number_text(const json::Reader& reader) {
    const std::string text = reader.string();
    const auto number = base::parse_integer<std::uint64_t>(text);
    if (!number || base::concat(*number) != text)
        throw reader.unexpected("a decimal number in quotes, without leading zeros");
    return *number;
}

} // namespace rdmanet::state
