#include "device_usable.hpp"

#include "device_link.hpp"

#include <rdmanet/base/text.hpp>
#include <rdmanet/cni/error.hpp>
#include <rdmanet/kernel/device.hpp>
#include <rdmanet/kernel/route.hpp>

#include <utility>
#include <vector>

namespace rdmanet::attach {
namespace {

using base::BusAddress;
using base::concat;
using base::quoted;
using kernel::Link;

/// Whether a default route of the node uses the interface, or an interface on top of it such as a VLAN or bond.
bool carries_default_route(const Link& link, kernel::Socket& route) {
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
    throw cni::CniError(cni::ErrorCode::parent, concat("device ", device, ' ', why));
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
    refuse_device(address, address.pci() ? "does not exist on this node: `lspci -D` lists those that do; the device "
                                           "plugin's list may be older than the last change of sriov_numvfs"
                                         : "does not exist on this node: `ls /sys/bus/auxiliary/devices` lists those "
                                           "that do; the device plugin's list may be older than the last change by "
                                           "`devlink port`");
}

std::optional<Link> find_device_link(const BusAddress& address, kernel::Socket& route) {
    auto links = list_links_on_host(address, route);
    if (links.size() > 1)
        refuse_device(address, concat("has several net devices, among them ", quoted(links[0].name), " and ",
                                      quoted(links[1].name),
                                      ", of which one alone can't go into a pod: choose a function "
                                      "that has one, in switchdev mode a VF instead of its PF"));
    if (!links.empty()) return std::move(links.front());
    const std::string driver = kernel::driver_of(address);
    if (is_user_space_driver(driver)) return std::nullopt;
    refuse_device(
        address,
        driver.empty()
            ? std::string("has no driver: bind it to its network driver, or to vfio-pci")
            : concat("has driver ", quoted(driver), " and no net device in the host's namespace: for ",
                     "InfiniBand run `modprobe ib_ipoib`; if a namespace that nobody records holds it, unbind ",
                     "and bind the driver"));
}

void require_spare(const BusAddress& address, const Link& link, kernel::Socket& route) {
    if (const unsigned vfs = kernel::count_vfs_of(address); vfs != 0)
        refuse_device(address,
                      concat("has ", vfs, " VFs, which are set up through it: write 0 to its sriov_numvfs, or use ",
                             "another device"));
    require_spare(address.to_string(), link, route);
}

void require_spare(const std::string& device, const Link& link, kernel::Socket& route) {
    if (link.master_ifindex) {
        const auto master = kernel::find_link(route, *link.master_ifindex);
        refuse_device(device, concat("is ", quoted(link.name), ", which belongs to ",
                                     quoted(master ? master->name : std::string("?")),
                                     " on the host: take it out there, or use another device"));
    }
    if (carries_default_route(link, route))
        refuse_device(device, concat("is ", quoted(link.name),
                                     ", by which a default route of the node goes: use another device"));
}

} // namespace rdmanet::attach
