// The address of a PCI function.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rdmanet::base {

class PciAddress {
public:
    /// "DDDD:BB:DD.F" in hexadecimal digits of either case, as sysfs names devices (drivers/pci/probe.c,
    /// pci_setup_device()): a domain of four to eight digits, then bus, device (at most 1f) and function (at most 7).
    [[nodiscard]] static std::optional<PciAddress> parse(std::string_view text);

    /// As sysfs spells it: lower case, a domain of at least four digits.
    [[nodiscard]] std::string to_string() const;

    friend auto operator<=>(const PciAddress&, const PciAddress&) = default;

private:
    PciAddress(std::uint32_t domain, std::uint8_t bus, std::uint8_t device, std::uint8_t function)
        : domain_(domain), bus_(bus), device_(device), function_(function) {}

    std::uint32_t domain_;
    std::uint8_t bus_;
    std::uint8_t device_;
    std::uint8_t function_;
};

} // namespace rdmanet::base
