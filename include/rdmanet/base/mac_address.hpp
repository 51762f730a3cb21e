// A 48-bit link-layer address.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace rdmanet::base {

class MacAddress {
public:
    using Bytes = std::array<unsigned char, 6>;

    explicit MacAddress(const Bytes& bytes) : bytes_(bytes) {}

    /// Six hexadecimal pairs separated by ':' or '-' throughout, in either case.
    [[nodiscard]] static std::optional<MacAddress> parse(std::string_view text);

    [[nodiscard]] const Bytes& bytes() const { return bytes_; }
    /// The group bit (IEEE 802). If it is set, the address is multicast or broadcast, and the kernel refuses it for a
    /// device.
    [[nodiscard]] bool is_multicast() const { return (bytes_[0] & 1U) != 0; }
    [[nodiscard]] bool is_zero() const { return bytes_ == Bytes{}; }

    /// Lower case, colon separated.
    [[nodiscard]] std::string to_string() const;

    friend bool operator==(const MacAddress&, const MacAddress&) = default;

private:
    Bytes bytes_;
};

} // namespace rdmanet::base
