#include "device_usable.hpp"

#include "device_link.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/cni/error.hpp>
#include <rdmanet/kernel/device.hpp>
#include <rdmanet/kernel/route.hpp>

#include <utility>
#include <vector>

namespace rdmanet::attach {
namespace {

using base::BusAddress;
using base::quoted;
using kernel::Link;

/// Whether a default route of the node uses the interface, or an interface on top of it such as a VLAN or bond. An
/// interface that is down carries nothing, and neither does one on top of it.
bool carries_default_route(const Link& link, kernel::Socket& route) {
    if (!link.is_up()) return false;
    std::vector<Link> carriers;
    for (const base::Family family : {base::Family::v4, base::Family::v6})
        for (const kernel::Route& each :
             kernel::list_routes(route, {.family = family, .ifindex = {}, .table = kernel::kMainTable}))
            if (auto carrier =
                    each.destination.is_default_route() ? kernel::find_link(route, each.ifindex) : std::nullopt)
                carriers.push_back(*std::move(carrier));
    for (; !carriers.empty(); carriers = kernel::list_lower_links(route, carriers))
        for (const Link& carrier : carriers)
            if (carrier.ifindex == link.ifindex) return true;
    return false;
}

} // namespace

void refuse_device(const std::string& device, const std::string& why) {
    throw cni::CniError(cni::ErrorCode::parent, fmt::format("device {} {}", device, why));
}

void refuse_device(const BusAddress& address, const std::string& why) {
    refuse_device(address.to_string(), why);
}

bool is_user_space_driver(std::string_view driver) {
    return is_vfio_driver(driver) || driver == "uio_pci_generic" || driver == "igb_uio";
}

bool is_vfio_driver(std::string_view driver) {
    return driver.find("vfio") != std::string_view::npos;
}

void require_existing(const BusAddress& address) {
    if (kernel::device_exists(address)) return;
    refuse_device(
        address,
        fmt::format(
            "does not exist on this node: if the device plugin chose it, restart the device plugin, whose list is "
            "out of date, then delete the pod; otherwise choose one that `{}` lists",
            address.pci() ? "lspci -D" : "ls /sys/bus/auxiliary/devices"));
}

std::optional<Link> find_device_link(const BusAddress& address, kernel::Socket& route) {
    auto links = list_links_on_host(address, route);
    if (links.size() > 1)
        refuse_device(
            address, fmt::format("has several net devices, among them {} and {}, and one alone cannot move into a pod: "
                                 "choose a function with one net device; in switchdev mode, choose a VF and not its PF",
                                 quoted(links[0].name), quoted(links[1].name)));
    if (!links.empty()) return std::move(links.front());
    const std::string driver = kernel::driver_of(address);
    if (is_user_space_driver(driver)) return std::nullopt;
    if (driver.empty()) refuse_device(address, "has no driver: bind it to its network driver, or to vfio-pci");
    refuse_device(address,
                  fmt::format("has driver {} but no net device on the host: for InfiniBand run `modprobe ib_ipoib`; if "
                              "another network namespace has the net device, unbind and bind the driver",
                              quoted(driver)));
}

void require_unused_by_node(const BusAddress& address, const Link& link, kernel::Socket& route) {
    if (const unsigned vfs = kernel::count_vfs_of(address); vfs != 0)
        refuse_device(address,
                      fmt::format("is the PF of {}, so it must stay on the host: write 0 to its sriov_numvfs, or use "
                                  "another device",
                                  base::counted(vfs, "VF", "VFs")));
    require_unused_by_node(address.to_string(), link, route);
}

void require_unused_by_node(const std::string& device, const Link& link, kernel::Socket& route) {
    if (link.master_ifindex) {
        const auto master = kernel::find_link(route, *link.master_ifindex);
        refuse_device(
            device,
            fmt::format("is interface {}, a port of {} on the host: remove it from there, or use another device",
                        quoted(link.name), quoted(master ? master->name : std::string("?"))));
    }
    if (carries_default_route(link, route))
        refuse_device(device,
                      fmt::format("is interface {}, and a default route of the node needs it: use another device",
                                  quoted(link.name)));
}

} // namespace rdmanet::attach
