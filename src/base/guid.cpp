#include <rdmanet/base/guid.hpp>

#include <rdmanet/base/ip_address.hpp>
#include <rdmanet/base/text.hpp>

namespace rdmanet::base {
namespace {

constexpr std::size_t kBytes = 8;

std::uint64_t from_network_order(std::span<const unsigned char, kBytes> bytes) {
    std::uint64_t value = 0;
    for (const unsigned char byte : bytes) value = value << 8U | byte;
    return value;
}

} // namespace

std::optional<Guid> Guid::parse(std::string_view text) {
    const auto bytes = parse_hex_pairs<kBytes>(text);
    return bytes ? std::optional(Guid(from_network_order(*bytes))) : std::nullopt;
}

Guid Guid::from_gid(const IpAddress& gid) {
    const auto bytes = gid.bytes();
    return Guid(from_network_order(std::span(bytes).last<kBytes>()));
}

std::string Guid::to_string() const {
    std::array<unsigned char, kBytes> bytes{};
    for (std::size_t at = 0; at < kBytes; ++at)
        bytes.at(at) = static_cast<unsigned char>(value_ >> (kBytes - 1 - at) * 8U);
    return hex_pairs(bytes);
}

} // namespace rdmanet::base
