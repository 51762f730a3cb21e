#include <rdmanet/base/guid.hpp>

#include <rdmanet/base/text.hpp>

#include <cstdio>

namespace rdmanet::base {
namespace {

constexpr std::size_t kBytes = 8;

} // namespace

std::optional<Guid> Guid::parse(std::string_view text) {
    if (text.size() != kBytes * 3 - 1) return std::nullopt;
    std::uint64_t value = 0;
    for (std::size_t at = 0; at < kBytes; ++at) {
        const auto byte = parse_integer<unsigned char>(text.substr(at * 3, 2), 16);
        if (!byte || (at > 0 && text[at * 3 - 1] != ':')) return std::nullopt;
        value = value << 8U | *byte;
    }
    return Guid(value);
}

std::string Guid::to_string() const {
    std::string text;
    for (std::size_t at = kBytes; at-- > 0;) {
        char pair[4];
        (void)std::snprintf(pair, sizeof pair, "%02x", static_cast<unsigned>(value_ >> at * 8U & 0xffU));
        text += pair;
        if (at > 0) text.push_back(':');
    }
    return text;
}

} // namespace rdmanet::base
