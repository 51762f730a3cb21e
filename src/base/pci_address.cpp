#include <rdmanet/base/pci_address.hpp>

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>

namespace rdmanet::base {
namespace {

/// A hexadecimal number of `least` to `most` digits that is at most `greatest`.
std::optional<std::uint32_t> parse_hex(std::string_view text, std::size_t least, std::size_t most,
                                       std::uint32_t greatest) {
    if (text.size() < least || text.size() > most) return std::nullopt;
    const auto number = parse_integer<std::uint32_t>(text, 16);
    return number && *number <= greatest ? number : std::nullopt;
}

} // namespace

std::optional<PciAddress> PciAddress::parse(std::string_view text) {
    const std::size_t first = text.find(':');
    if (first == std::string_view::npos || text.size() != first + 8 || text[first + 3] != ':' || text[first + 6] != '.')
        return std::nullopt;
    const auto domain = parse_hex(text.substr(0, first), 4, 8, UINT32_MAX);
    const auto bus = parse_hex(text.substr(first + 1, 2), 2, 2, 0xff);
    const auto device = parse_hex(text.substr(first + 4, 2), 2, 2, 0x1f);
    const auto function = parse_hex(text.substr(first + 7, 1), 1, 1, 7);
    if (!domain || !bus || !device || !function) return std::nullopt;
    return PciAddress(*domain, static_cast<std::uint8_t>(*bus), static_cast<std::uint8_t>(*device),
                      static_cast<std::uint8_t>(*function));
}

std::string PciAddress::to_string() const {
    return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", domain_, bus_, device_, function_);
}

} // namespace rdmanet::base
