#include "end_checks.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/kernel/gid.hpp>
#include <rdmanet/kernel/link.hpp>
#include <rdmanet/kernel/rdma.hpp>

#include <unistd.h>

#include <charconv>
#include <string>
#include <vector>

namespace rdmanet::verify {
namespace {

using inventory::Interface;
using inventory::Inventory;

/// Link-local ones only if there are no others: programs want the pod's address.
std::vector<base::IpAddress> usable_addresses(const Interface& interface) {
    std::vector<base::IpAddress> global;
    std::vector<base::IpAddress> link_local;
    for (const base::IpPrefix& prefix : interface.addresses)
        (prefix.address().is_link_local() ? link_local : global).push_back(prefix.address());
    return global.empty() ? link_local : global;
}

bool check_device(EndChecks& checks, const Inventory& inventory, const Interface& interface) {
    Endpoint& end = checks.endpoint();
    end.device = interface.rdma_device;
    end.port = interface.rdma_port;
    if (end.device.empty())
        return checks.failed("device", fmt::format("no RDMA device carries the packets of {}", end.interface),
                             "use a parent or device that `rdma link` shows");
    if (interface.is_shared && inventory.mode() == kernel::RdmaNetnsMode::exclusive)
        return checks.failed(
            "device",
            fmt::format("RDMA device {} is on the host, and in mode exclusive the pod cannot see it", end.device),
            "use a network with \"attach\": \"sriov\", or a node in mode shared");
    return checks.passed("device", fmt::format("{}/{}", end.device, end.port));
}

bool check_port(EndChecks& checks, const Inventory& inventory, const Interface& interface) {
    const inventory::RdmaPort* const port = inventory::find_port(inventory, interface);
    Endpoint& end = checks.endpoint();
    if (port == nullptr)
        return checks.failed("port", fmt::format("RDMA device {} has no port {}", end.device, end.port),
                             "look at `rdmanet inventory`: the device may have gone");
    end.is_infiniband = port->link_layer == "InfiniBand";
    // "100 Gb/sec (4X EDR)": a point as decimal sign, whatever the locale.
    (void)std::from_chars(port->rate.data(), port->rate.data() + port->rate.size(), end.rate);
    if (port->state != kernel::PortState::active)
        return checks.failed("port",
                             fmt::format("port {} of {} is {}, expected active", end.port, end.device, port->state),
                             end.is_infiniband ? "start a subnet manager, and check the cable"
                                               : "check the cable and `ip link` of the parent or PF");
    return checks.passed("port", fmt::format("active, {}", port->rate));
}

bool check_gid(EndChecks& checks, const Interface& interface) {
    Endpoint& end = checks.endpoint();
    if (end.is_infiniband) {
        if (!interface.addresses.empty()) end.address = interface.addresses.front().address();
        const auto own = kernel::parse_port_gid(interface.net.hardware_address);
        for (const kernel::GidEntry& gid : interface.gids)
            if (gid.address == own) end.gid_index = gid.index;
        return checks.passed("gid", "InfiniBand: the LID is enough, unless a port requires a global routing header");
    }
    if (interface.addresses.empty())
        return checks.failed("gid", fmt::format("interface {} has no address, so it has no GID", end.interface),
                             "give the network an \"ipam\"");
    const std::vector<base::IpAddress> addresses = usable_addresses(interface);
    for (const base::IpAddress& address : addresses)
        for (const kernel::GidEntry& gid : interface.gids)
            if (gid.address == address && gid.type == kernel::GidType::roce_v2) {
                end.address = gid.address;
                end.gid_index = gid.index;
                return checks.passed("gid", fmt::format("index {}, {}, {}", gid.index, gid.type, gid.address));
            }
    return checks.failed(
        "gid",
        fmt::format("{} has no GID of RoCE v2 on {}/{}", interface.addresses.front().address(), end.device, end.port),
        "the GID table may be full: `rdmanet inventory` counts it; else delete the pod");
}

bool check_file(EndChecks& checks, const Interface& interface) {
    for (const std::string& name : interface.files) {
        if (!name.starts_with("uverbs")) continue;
        const std::string path = fmt::format("/dev/infiniband/{}", name);
        if (::access(path.c_str(), R_OK | W_OK) == 0) return checks.passed("device-file", path);
        return checks.failed(
            "device-file", fmt::format("{} is missing or may not be opened", path),
            "on the node: `modprobe ib_uverbs` and `udevadm trigger`; in a container: request the RDMA "
            "device plugin's resource");
    }
    return checks.failed("device-file",
                         fmt::format("RDMA device {} has no file for programs", checks.endpoint().device),
                         "`modprobe ib_uverbs`");
}

} // namespace

bool check_device_of(EndChecks& checks, const Inventory& inventory, const Interface& interface) {
    return check_device(checks, inventory, interface) && check_port(checks, inventory, interface) &&
           check_gid(checks, interface) && check_file(checks, interface);
}

} // namespace rdmanet::verify
