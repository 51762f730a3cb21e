// The address of a device: on the PCI bus, or on the auxiliary bus, which holds parts of a PCI function.
#pragma once

#include <rdmanet/base/pci_address.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace rdmanet::base {

enum class Bus : std::uint8_t { pci, auxiliary };
/// The bus's directory name in /sys/bus.
[[nodiscard]] std::string_view to_string(Bus bus);

class BusAddress {
public:
    BusAddress(const PciAddress& pci) : bus_(Bus::pci), name_(pci.to_string()) {}

    /// A PCI address, or the name of an auxiliary device (drivers/base/auxiliary.c), such as "mlx5_core.sf.4": at
    /// least two parts with dots between them. Parts consist of letters, digits, '_' and '-'; the last one is a
    /// number.
    [[nodiscard]] static std::optional<BusAddress> parse(std::string_view text);

    [[nodiscard]] Bus bus() const { return bus_; }
    [[nodiscard]] std::optional<PciAddress> pci() const {
        return bus_ == Bus::pci ? PciAddress::parse(name_) : std::nullopt;
    }
    /// The device's name in sysfs. Records and messages use it, too.
    [[nodiscard]] const std::string& to_string() const { return name_; }
    /// The device's directory relative to the root of a sysfs: "bus/pci/devices/0000:3b:00.2".
    [[nodiscard]] std::string sysfs_path() const;

    friend bool operator==(const BusAddress&, const BusAddress&) = default;

private:
    BusAddress(Bus bus, std::string name) : bus_(bus), name_(std::move(name)) {}

    Bus bus_;
    std::string name_;
};

} // namespace rdmanet::base
