#include <rdmanet/base/ip_address.hpp>

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>

namespace rdmanet::base {
namespace {

constexpr Uint128 kMappedV4 = Uint128{0xffff} << 32U; // ::ffff:0:0/96, RFC 4291 section 2.5.5.2
constexpr unsigned kMappedV4Length = 96;

int af(Family family) {
    return family == Family::v4 ? AF_INET : AF_INET6;
}

} // namespace

std::optional<IpAddress> IpAddress::parse(std::string_view text) {
    char terminated[INET6_ADDRSTRLEN];
    if (text.empty() || text.size() >= sizeof terminated) return std::nullopt;
    text.copy(terminated, text.size());
    terminated[text.size()] = '\0';
    if (text.find('\0') != std::string_view::npos) return std::nullopt;

    unsigned char bytes[16];
    const Family family = text.find(':') == std::string_view::npos ? Family::v4 : Family::v6;
    if (::inet_pton(af(family), terminated, bytes) != 1) return std::nullopt;
    const IpAddress address = from_bytes(family, bytes);
    if (family == Family::v6 && (address.value_ >> 32U) == (kMappedV4 >> 32U))
        return IpAddress(Family::v4, address.value_);
    return address;
}

IpAddress IpAddress::from_bytes(Family family, const unsigned char* bytes) {
    Uint128 value = 0;
    for (std::size_t at = 0; at < address_bits(family) / 8; ++at) value = (value << 8U) | bytes[at];
    return {family, value};
}

std::array<unsigned char, 16> IpAddress::bytes() const {
    std::array<unsigned char, 16> out{};
    Uint128 rest = value_;
    for (std::size_t at = byte_count(); at-- > 0; rest >>= 8U) out[at] = static_cast<unsigned char>(rest);
    return out;
}

std::string IpAddress::to_string() const {
    char text[INET6_ADDRSTRLEN];
    const auto network_order = bytes();
    ::inet_ntop(af(family_), network_order.data(), text, sizeof text);
    return text;
}

std::optional<IpPrefix> IpPrefix::make(IpAddress address, unsigned length) {
    if (length > address_bits(address.family())) return std::nullopt;
    return IpPrefix(address, length);
}

std::optional<IpPrefix> IpPrefix::parse(std::string_view text) {
    const auto slash = text.find('/');
    if (slash == std::string_view::npos) return std::nullopt;
    const auto address = IpAddress::parse(text.substr(0, slash));
    const auto length = parse_integer<unsigned>(text.substr(slash + 1));
    if (!address || !length) return std::nullopt;
    const bool mapped = address->is_v4() && text.find(':') < slash;
    if (!mapped) return make(*address, *length);
    if (*length < kMappedV4Length) return std::nullopt;
    return make(*address, *length - kMappedV4Length);
}

Uint128 IpPrefix::host_mask() const {
    const unsigned host_bits = address_bits(family()) - length_;
    return host_bits == 128 ? ~Uint128{0} : (Uint128{1} << host_bits) - 1;
}

IpAddress IpPrefix::network() const {
    return {family(), address_.value() & ~host_mask()};
}

IpAddress IpPrefix::last() const {
    return {family(), address_.value() | host_mask()};
}

bool IpPrefix::contains(const IpAddress& address) const {
    return address.family() == family() && (address.value() & ~host_mask()) == network().value();
}

std::string IpPrefix::to_string() const {
    return fmt::format("{}/{}", address_, length_);
}

} // namespace rdmanet::base
