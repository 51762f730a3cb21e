// Devices whose net or RDMA devices are in another network namespace, and which namespace that is.
#pragma once

#include <rdmanet/base/bus_address.hpp>
#include <rdmanet/kernel/live_namespaces.hpp>

#include <string>
#include <vector>

namespace rdmanet::kernel {

/// Which parts of a device are not in the calling thread's namespace. sysfs keeps the directories "net" and
/// "infiniband" of a device while it has such a part, wherever the part is, and shows the part's name only in its own
/// namespace (get_device_parent(), drivers/base/core.c). So an empty directory means that the part is elsewhere.
struct ElsewhereDevice {
    base::BusAddress address;
    bool net = false;
    bool rdma = false;

    /// "net device and RDMA device", for messages.
    [[nodiscard]] std::string parts_text() const;
};
/// Examines PCI functions and auxiliary devices. Throws base::SystemError.
[[nodiscard]] std::vector<ElsewhereDevice> list_devices_elsewhere();

/// The parts of `devices` that are in none of the namespaces that these paths lead to. Namespaces that go meanwhile
/// are skipped. Throws base::SystemError.
[[nodiscard]] std::vector<ElsewhereDevice> subtract_devices_in(const std::vector<std::string>& netns_paths,
                                                               std::vector<ElsewhereDevice> devices);

/// A namespace that only an open descriptor keeps: no process is in it and no mount has it. It may be of another
/// kind.
struct HeldNetns {
    std::string path; // of the descriptor: /proc/PID/fd/N
    unsigned pid = 0;
};
/// `living` are the namespaces that need no descriptor. `proc` is where procfs is mounted. Throws base::SystemError.
[[nodiscard]] std::vector<HeldNetns> list_held_netns(const LiveNetns& living, const std::string& proc = "/proc");

} // namespace rdmanet::kernel
