#include <rdmanet/base/hex_pairs.hpp>

namespace rdmanet::base {

std::string hex_pairs(std::span<const unsigned char> bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text;
    for (const unsigned char byte : bytes) {
        if (!text.empty()) text.push_back(':');
        text.push_back(kDigits[byte >> 4U]);
        text.push_back(kDigits[byte & 15U]);
    }
    return text;
}

} // namespace rdmanet::base
