// IP addresses and prefixes as numbers: all 128 bits take part in arithmetic.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rdmanet::base {

__extension__ using Uint128 = unsigned __int128;

enum class Family : std::uint8_t { v4 = 4, v6 = 6 };

/// Bits of an address of the family: 32 or 128.
[[nodiscard]] constexpr unsigned address_bits(Family family) {
    return family == Family::v4 ? 32 : 128;
}

class IpAddress {
public:
    /// `value` is the address in host order; for v4 only the low 32 bits count.
    constexpr IpAddress(Family family, Uint128 value)
        : value_(family == Family::v4 ? static_cast<std::uint32_t>(value) : value), family_(family) {}

    /// Dotted quad or RFC 4291 text, without zone and without surrounding space. An IPv4-mapped IPv6 address becomes
    /// the IPv4 address, as in Go's net package, which the peers' configurations and results are written for.
    [[nodiscard]] static std::optional<IpAddress> parse(std::string_view text);

    /// From network byte order: 4 or 16 bytes.
    [[nodiscard]] static IpAddress from_bytes(Family family, const unsigned char* bytes);

    [[nodiscard]] constexpr Family family() const { return family_; }
    [[nodiscard]] constexpr bool is_v4() const { return family_ == Family::v4; }
    [[nodiscard]] constexpr Uint128 value() const { return value_; }

    /// Network byte order; the first address_bits()/8 bytes count.
    [[nodiscard]] std::array<unsigned char, 16> bytes() const;
    [[nodiscard]] std::size_t byte_count() const { return address_bits(family_) / 8; }

    [[nodiscard]] bool is_unspecified() const { return value_ == 0; }
    /// In fe80::/10. An IPv4 address never is, although 169.254.0.0/16 is called so.
    [[nodiscard]] bool is_link_local() const { return !is_v4() && value_ >> 118U == 0x3fa; }

    /// Canonical text (RFC 5952 for v6).
    [[nodiscard]] std::string to_string() const;

    /// v4 before v6, then by number.
    friend constexpr bool operator==(const IpAddress&, const IpAddress&) = default;
    friend constexpr std::strong_ordering operator<=>(const IpAddress& a, const IpAddress& b) {
        if (a.family_ != b.family_) return a.family_ <=> b.family_;
        return a.value_ < b.value_    ? std::strong_ordering::less
               : a.value_ == b.value_ ? std::strong_ordering::equal
                                      : std::strong_ordering::greater;
    }

private:
    Uint128 value_;
    Family family_;
};

/// An address with a prefix length. Host bits are kept ("10.1.2.3/24"), network() masks them away.
class IpPrefix {
public:
    /// nullopt if `length` exceeds the family's bits.
    [[nodiscard]] static std::optional<IpPrefix> make(IpAddress address, unsigned length);
    /// "ADDRESS/LENGTH". The length of an IPv4-mapped IPv6 prefix counts from the first of its 128 bits:
    /// "::ffff:10.0.0.0/104" is the IPv4 prefix 10.0.0.0/8. A mapped prefix shorter than 96 bits is refused.
    [[nodiscard]] static std::optional<IpPrefix> parse(std::string_view text);

    [[nodiscard]] const IpAddress& address() const { return address_; }
    [[nodiscard]] unsigned length() const { return length_; }
    [[nodiscard]] Family family() const { return address_.family(); }

    /// First address of the prefix: host bits zero.
    [[nodiscard]] IpAddress network() const;
    /// Last address of the prefix: host bits one.
    [[nodiscard]] IpAddress last() const;
    [[nodiscard]] bool contains(const IpAddress& address) const;
    [[nodiscard]] bool has_host_bits() const { return address_ != network(); }
    /// 0.0.0.0/0 or ::/0.
    [[nodiscard]] bool is_default_route() const { return length_ == 0; }

    [[nodiscard]] std::string to_string() const;

    friend bool operator==(const IpPrefix&, const IpPrefix&) = default;

private:
    IpPrefix(IpAddress address, unsigned length) : address_(address), length_(length) {}
    [[nodiscard]] Uint128 host_mask() const;

    IpAddress address_;
    unsigned length_;
};

} // namespace rdmanet::base
