// Devices whose net or RDMA devices are in another network namespace, and which one that is.
#pragma once

#include <rdmanet/base/bus_address.hpp>
#include <rdmanet/kernel/live_namespaces.hpp>

#include <string>
#include <vector>

namespace rdmanet::kernel {

/// What of a device the calling thread's namespace lacks. sysfs keeps the directories "net" and "infiniband" of a
/// device for as long as it has one, wherever that is, and shows its name in its own namespace alone
/// (get_device_parent(), drivers/base/core.c): an empty one tells.
struct ElsewhereDevice {
    base::BusAddress address;
    bool net = false;
    bool rdma = false;

    /// "net device and RDMA device", for messages.
    [[nodiscard]] std::string parts_text() const;
};
/// PCI functions and auxiliary devices. Throws base::SystemError.
[[nodiscard]] std::vector<ElsewhereDevice> list_devices_elsewhere();

/// What of `devices` is in none of the namespaces that these paths lead to; those that go meanwhile are passed over.
/// Throws base::SystemError.
[[nodiscard]] std::vector<ElsewhereDevice> subtract_devices_in(const std::vector<std::string>& netns_paths,
                                                               std::vector<ElsewhereDevice> devices);

/// A namespace that nobody is in and no mount keeps, but an open descriptor. It may be one of another kind.
struct HeldNetns {
    std::string path; // of the descriptor, /proc/PID/fd/N
    unsigned pid = 0;
};
/// `living` is what needs no descriptor. `proc` is where procfs is. Throws base::SystemError.
[[nodiscard]] std::vector<HeldNetns> list_held_netns(const LiveNetns& living, const std::string& proc = "/proc");

} // namespace rdmanet::kernel
