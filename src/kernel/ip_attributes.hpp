// IP addresses as netlink attributes.
#pragma once

#include "message.hpp"

#include <rdmanet/base/ip_address.hpp>

#include <sys/socket.h>

#include <cstdint>
#include <optional>

namespace rdmanet::kernel {

[[nodiscard]] constexpr std::uint8_t address_family(base::Family family) {
    return family == base::Family::v4 ? AF_INET : AF_INET6;
}

[[nodiscard]] constexpr std::optional<base::Family> family_of(int address_family) {
    if (address_family == AF_INET) return base::Family::v4;
    if (address_family == AF_INET6) return base::Family::v6;
    return std::nullopt;
}

/// nullopt if there is no value, or it is not an address of the family.
[[nodiscard]] inline std::optional<base::IpAddress> parse_ip(int address_family, const std::optional<Bytes>& value) {
    const auto family = family_of(address_family);
    if (!family || !value || value->size() != base::address_bits(*family) / 8) return std::nullopt;
    return base::IpAddress::from_bytes(*family, value->data());
}

inline void put_ip(Message& request, int attribute, const base::IpAddress& address) {
    const auto bytes = address.bytes();
    request.put(attribute, {bytes.data(), address.byte_count()});
}

} // namespace rdmanet::kernel
