// RDMA devices and their ports over NETLINK_RDMA (rdma/rdma_netlink.h; drivers/infiniband/core/nldev.c).
#pragma once

#include <rdmanet/kernel/link.hpp>
#include <rdmanet/kernel/netlink_socket.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rdmanet::kernel {

/// Of the whole machine: in shared mode every namespace sees every RDMA device, in exclusive mode only its own.
enum class RdmaNetnsMode : std::uint8_t { exclusive = 0, shared = 1 };
[[nodiscard]] std::string_view to_string(RdmaNetnsMode mode);

/// Throws NetlinkError.
[[nodiscard]] RdmaNetnsMode get_rdma_netns_mode(Socket& rdma);

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
    std::uint8_t physical_state = 0;        // enum ib_port_phys_state, rdma/ib_verbs.h: 5 is link up
    std::optional<unsigned> netdev_ifindex; // if it has a net device and that is in the socket's namespace
    std::string netdev_name;
};

/// The devices that the socket's namespace sees. Throws NetlinkError.
[[nodiscard]] std::vector<RdmaDevice> list_rdma_devices(Socket& rdma);
[[nodiscard]] std::optional<RdmaDevice> find_rdma_device(Socket& rdma, std::string_view name);
[[nodiscard]] std::optional<RdmaDevice> find_rdma_device(Socket& rdma, std::uint32_t index);

/// None if the device has gone meanwhile. Throws NetlinkError.
[[nodiscard]] std::vector<RdmaPort> list_rdma_ports(Socket& rdma, const RdmaDevice& device);

/// Ports whose net device is `link` itself or, if none is, one that `link` stands on: the parent of a VLAN, macvlan or
/// ipvlan, the ports of a bond, team or bridge, and so on down. Empty: no RDMA below. Both sockets must be of the
/// namespace where the link is.
[[nodiscard]] std::vector<RdmaPort> list_rdma_ports_below(Socket& route, Socket& rdma, const Link& link);

/// The interface that the first port of the named RDMA device is on; nullopt if there is no such device here, or it has
/// no net device here. Throws NetlinkError.
[[nodiscard]] std::optional<unsigned> find_netdev_of_rdma_device(Socket& rdma, std::string_view device);

/// Moves a device from the socket's namespace, which must be the calling thread's, to `netns`. Open user contexts are
/// cut off. Throws NetlinkError: EOPNOTSUPP shared mode or a driver that cannot, EINVAL the device is not here.
void move_rdma_device(Socket& rdma, std::uint32_t index, const Netns& netns);

} // namespace rdmanet::kernel
