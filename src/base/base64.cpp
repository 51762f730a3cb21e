#include <rdmanet/base/base64.hpp>

#include <cstdint>

namespace rdmanet::base {
namespace {

constexpr std::string_view kBase64Digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

} // namespace

std::string encode_base64(std::string_view bytes) {
    std::string text;
    text.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t at = 0; at < bytes.size(); at += 3) {
        std::uint32_t bits = 0;
        for (std::size_t next = at; next < at + 3; ++next)
            bits = bits << 8U | (next < bytes.size() ? static_cast<unsigned char>(bytes[next]) : 0U);
        for (unsigned digit = 0; digit < 4; ++digit)
            text.push_back(at + digit <= bytes.size() ? kBase64Digits[bits >> (18U - 6U * digit) & 63U] : '=');
    }
    return text;
}

std::optional<std::string> decode_base64(std::string_view text) {
    std::string bytes;
    std::uint32_t bits = 0;
    unsigned count = 0;
    bool has_ended = false;
    for (const char c : text) {
        if (c == '\n' || c == '\r' || c == ' ') continue;
        if (c == '=') {
            has_ended = true;
            continue;
        }
        const auto digit = kBase64Digits.find(c);
        if (digit == std::string_view::npos || has_ended) return std::nullopt;
        bits = bits << 6U | static_cast<std::uint32_t>(digit);
        count += 6;
        if (count < 8) continue;
        count -= 8;
        bytes.push_back(static_cast<char>(bits >> count & 0xffU));
    }
    return bytes;
}

} // namespace rdmanet::base
