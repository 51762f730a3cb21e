// RDMA devices and their ports over NETLINK_RDMA (rdma/rdma_netlink.h; drivers/infiniband/core/nldev.c).
#pragma once

#include <rdmanet/kernel/link.hpp>
#include <rdmanet/kernel/netlink_socket.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rdmanet::kernel {

/// The mode of the whole machine. In shared mode every namespace sees every RDMA device, in exclusive mode only its
/// own.
enum class RdmaNetnsMode : std::uint8_t { exclusive = 0, shared = 1 };

/// What the kernel reports of RDMA as a whole (RDMA_NLDEV_CMD_SYS_GET).
struct RdmaSystem {
    /// nullopt before Linux 5.3, where no RDMA device can move to another namespace.
    std::optional<RdmaNetnsMode> netns_mode;
    /// fork() copies registered memory at once, so that parent and NIC keep the same pages. Since Linux 5.13.
    bool copies_on_fork = false;

    /// The mode that applies: without modes, every namespace sees every RDMA device, as in shared mode.
    [[nodiscard]] RdmaNetnsMode mode() const { return netns_mode.value_or(RdmaNetnsMode::shared); }
};

/// Throws NetlinkError.
[[nodiscard]] RdmaSystem read_rdma_system(Socket& rdma);
/// RdmaSystem::mode(). Throws NetlinkError.
[[nodiscard]] RdmaNetnsMode rdma_netns_mode(Socket& rdma);

struct RdmaDevice {
    std::uint32_t index = 0; // survives renames and moves between namespaces; not used again until reboot
    std::string name;
    std::uint64_t node_guid = 0; // guards the index; host byte order
    unsigned port_count = 0;
    std::string protocol; // "roce", "ib", "iw", "opa", "usnic"; empty before Linux 5.1
};

/// enum ib_port_state, rdma/ib_verbs.h.
enum class PortState : std::uint8_t { unknown = 0, down = 1, initializing = 2, armed = 3, active = 4, deferred = 5 };
[[nodiscard]] std::string_view to_string(PortState state);

struct RdmaPort {
    std::uint32_t device_index = 0;
    std::string device;
    unsigned port = 0; // from 1
    PortState state = PortState::unknown;
    std::uint8_t physical_state = 0; // enum ib_port_phys_state, rdma/ib_verbs.h
    // InfiniBand: the LID that the subnet manager gave the port, and the subnet manager's own. 0: none yet.
    std::optional<std::uint32_t> lid;
    std::optional<std::uint32_t> sm_lid;
    std::optional<unsigned> netdev_ifindex; // set if the port has a net device in the socket's namespace
    std::string netdev_name;

    [[nodiscard]] bool is_active() const { return state == PortState::active; }
    [[nodiscard]] bool has_physical_link() const;
    /// "port 1 of RDMA device "mlx5_0"", for messages.
    [[nodiscard]] std::string to_string() const;
    /// "mlx5_0/1", as `rdma link` names it.
    [[nodiscard]] std::string link_name() const;
    /// "state init, physical state link up, LID 0, SM LID 0", for messages.
    [[nodiscard]] std::string states_text() const;
};

/// The inverse of RdmaPort::link_name(): sets only device and number. nullopt if the text is not such a name.
[[nodiscard]] std::optional<RdmaPort> parse_rdma_link_name(std::string_view name);

/// The devices that the socket's namespace sees. While other devices move away, the list may lack one. Throws
/// NetlinkError.
[[nodiscard]] std::vector<RdmaDevice> list_rdma_devices(Socket& rdma);
/// Reliable even while other devices move.
[[nodiscard]] std::optional<RdmaDevice> find_rdma_device(Socket& rdma, std::string_view name);
[[nodiscard]] std::optional<RdmaDevice> find_rdma_device(Socket& rdma, std::uint32_t index);

/// Empty if the device is gone. Throws NetlinkError.
[[nodiscard]] std::vector<RdmaPort> list_rdma_ports(Socket& rdma, const RdmaDevice& device);

/// The port that carries the packets of `link`: the one on `link` itself, or on an interface below it (the parent of
/// a VLAN, macvlan or ipvlan, the ports of a bond, team or bridge, and so on down). Of several ports, an active one,
/// first that of the link's own device. nullopt if there is no RDMA. Link and socket must be of the calling thread's
/// namespace. Throws NetlinkError, or base::SystemError if the interfaces below the link cannot be read.
[[nodiscard]] std::optional<RdmaPort> find_rdma_port(Socket& rdma, const Link& link);
/// The same among these devices.
[[nodiscard]] std::optional<RdmaPort> find_rdma_port(Socket& rdma, const Link& link,
                                                     const std::vector<RdmaDevice>& devices);

/// The name of the interface of the RDMA device's first port, in the calling thread's namespace. nullopt if there is
/// no such device here, or it has no net device here. Throws NetlinkError.
[[nodiscard]] std::optional<std::string>
find_netdev_of_rdma_device(std::string_view device,
                           const base::Deadline& deadline = base::Deadline::in(std::chrono::seconds{2}));

/// Whether a device of the socket's namespace could move in exclusive mode: its driver must be able to take it away
/// from its users. Asks the kernel to move the device while the thread is in `elsewhere`, where the device is not.
/// The kernel first refuses a driver that cannot do it, then a device that is not there, and changes nothing
/// (drivers/infiniband/core/device.c, ib_device_set_netns_put(), rdma_dev_change_netns()). Throws NetlinkError.
[[nodiscard]] bool is_rdma_device_movable(Socket& rdma, std::uint32_t index, const Netns& elsewhere);

/// Moves a device from the socket's namespace, which must be the calling thread's, to `netns`. Open user contexts are
/// closed. Throws NetlinkError. EOPNOTSUPP: shared mode, or a driver that cannot do it. EINVAL: the device is not
/// here.
void move_rdma_device(Socket& rdma, std::uint32_t index, const Netns& netns);

/// Processes with an open user context of the device, which use it for RDMA. The numbers are of the caller's PID
/// namespace, 0 for a process outside it. Empty on kernels that do not report them (before Linux 5.18). Throws
/// NetlinkError.
[[nodiscard]] std::vector<unsigned> list_rdma_users(Socket& rdma, std::uint32_t index);

/// A queue pair that a kernel module has on a device.
struct KernelQueuePair {
    std::uint32_t number = 0;
    std::string module; // the module that made it: "ib_core", "ib_ipoib", "nvme_rdma"
};

/// Queue pairs of the device. The kernel takes them from their modules when the device moves. Queue pairs made
/// through RDMA CM are reported with the module that asked for them. Empty for drivers that cannot be asked. Throws
/// NetlinkError.
[[nodiscard]] std::vector<KernelQueuePair> list_kernel_queue_pairs(Socket& rdma, std::uint32_t index);

/// The name of the device's character device, "uverbs3" in /dev/infiniband; nullopt if it has none. The kernel gives
/// it the lowest free number whenever a device is created or moved. Throws NetlinkError.
[[nodiscard]] std::optional<std::string> find_uverbs(Socket& rdma, std::uint32_t index);

/// The device's driver, by which libibverbs chooses its library (enum rdma_driver_id, rdma/ib_user_ioctl_verbs.h).
/// nullopt if the device is gone or has no character device, or if the library must look at its PCI function instead
/// (ib_uverbs_get_nl_info(), drivers/infiniband/core/uverbs_main.c). Throws NetlinkError.
[[nodiscard]] std::optional<std::uint32_t> find_verbs_driver(Socket& rdma, std::uint32_t index);

/// Throws NetlinkError. EEXIST: another device has the name.
void rename_rdma_device(Socket& rdma, std::uint32_t index, std::string_view name);

} // namespace rdmanet::kernel
