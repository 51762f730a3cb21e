#include <rdmanet/base/mac_address.hpp>

#include <rdmanet/base/text.hpp>

namespace rdmanet::base {

std::optional<MacAddress> MacAddress::parse(std::string_view text) {
    const bool has_dashes = text.size() > 2 && text[2] == '-';
    const auto bytes = parse_hex_pairs<std::tuple_size_v<Bytes>>(text, has_dashes ? '-' : ':');
    return bytes ? std::optional(MacAddress(*bytes)) : std::nullopt;
}

std::string MacAddress::to_string() const {
    return hex_pairs(bytes_);
}

} // namespace rdmanet::base
