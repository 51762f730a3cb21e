#include <rdmanet/base/mac_address.hpp>

#include <rdmanet/base/text.hpp>

namespace rdmanet::base {

std::optional<MacAddress> MacAddress::parse(std::string_view text) {
    constexpr std::size_t kTextLength = 17;
    if (text.size() != kTextLength) return std::nullopt;
    const char separator = text[2];
    if (separator != ':' && separator != '-') return std::nullopt;
    Bytes bytes{};
    for (std::size_t at = 0; at < bytes.size(); ++at) {
        const auto byte = parse_integer<unsigned char>(text.substr(at * 3, 2), 16);
        if (!byte || (at > 0 && text[at * 3 - 1] != separator)) return std::nullopt;
        bytes[at] = *byte;
    }
    return MacAddress(bytes);
}

std::string MacAddress::to_string() const {
    constexpr std::string_view hex = "0123456789abcdef";
    std::string out;
    for (const unsigned char byte : bytes_) {
        if (!out.empty()) out.push_back(':');
        out.push_back(hex[byte >> 4U]);
        out.push_back(hex[byte & 15U]);
    }
    return out;
}

} // namespace rdmanet::base
