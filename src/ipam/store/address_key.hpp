// An address as the database orders it: one byte for the family, then the address in network byte order. Blobs compare
// byte by byte, so IPv4 comes before IPv6 and each family is in the order of its numbers.
#pragma once

#include <rdmanet/base/ip_address.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace rdmanet::ipam {

class AddressKey {
public:
    explicit AddressKey(const base::IpAddress& address) {
        const auto bytes = address.bytes();
        bytes_.push_back(static_cast<char>(address.family()));
        bytes_.append(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(address.byte_count()));
    }

    [[nodiscard]] static std::optional<base::IpAddress> parse(std::string_view bytes) {
        for (const auto family : {base::Family::v4, base::Family::v6})
            if (bytes.size() == 1 + base::address_bits(family) / 8 && bytes[0] == static_cast<char>(family))
                return base::IpAddress::from_bytes(family, reinterpret_cast<const unsigned char*>(bytes.data()) + 1);
        return std::nullopt;
    }

    [[nodiscard]] std::string_view bytes() const { return bytes_; }

private:
    std::string bytes_;
};

} // namespace rdmanet::ipam
