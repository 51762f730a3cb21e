// What drivers of NICs offer through the kernel's devlink family of generic netlink: parameters
// (Documentation/networking/devlink/devlink-params.rst), and the mode of the switch between a PF and its VFs.
#pragma once

#include <rdmanet/base/bus_address.hpp>
#include <rdmanet/kernel/netlink_socket.hpp>

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace rdmanet::kernel {

/// When a new value takes effect: at once, after a reload of the driver, or after a reset of the device (enum
/// devlink_param_cmode, linux/devlink.h).
enum class DevlinkMode : std::uint8_t { runtime = 0, driverinit = 1, permanent = 2 };
/// As devlink-dev(8) calls it.
[[nodiscard]] std::string_view to_string(DevlinkMode mode);

/// A parameter that is true or false.
struct DevlinkSwitch {
    bool is_on = false;
    DevlinkMode mode = DevlinkMode::runtime;
};

/// Asks about devices that belong to the socket's namespace. Changes nothing and loads no module.
class Devlink {
public:
    /// `generic` has Protocol::generic. nullopt if the kernel has no devlink. Throws NetlinkError.
    [[nodiscard]] static std::optional<Devlink> find(Socket generic);

    /// The parameter of a device, such as "enable_roce", with the first of its modes. nullopt if the kernel refuses:
    /// the device's driver has no devlink, or no such parameter. Throws what Socket throws.
    [[nodiscard]] std::optional<DevlinkSwitch> find_switch(const base::BusAddress& device, std::string_view parameter);

    /// Whether the e-switch of a PF is in mode switchdev: then each VF has a representor on the host
    /// (Documentation/networking/switchdev.rst). False if it is in mode legacy, or if the driver has no such mode.
    /// Throws what Socket throws.
    [[nodiscard]] bool is_switchdev(const base::BusAddress& device);

private:
    Devlink(Socket socket, int family) : socket_(std::move(socket)), family_(family) {}

    Socket socket_;
    int family_; // the number that the kernel gave the family
};

} // namespace rdmanet::kernel
