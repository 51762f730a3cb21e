#include "node_addresses.hpp"

#include <rdmanet/base/directory.hpp>
#include <rdmanet/base/error.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/kernel/address.hpp>
#include <rdmanet/kernel/device_search.hpp>
#include <rdmanet/kernel/link.hpp>
#include <rdmanet/kernel/live_namespaces.hpp>
#include <rdmanet/kernel/netns.hpp>
#include <rdmanet/kernel/proc_view.hpp>

#include <algorithm>

namespace rdmanet::leases {
namespace {

/// A program that drives its device itself has its addresses where no kernel shows them.
bool has_devices_of_programs() {
    const auto names = base::list_directory("/dev/vfio");
    // The others are there while a device has driver vfio-pci (vfio_create_group(), drivers/vfio/group.c).
    return std::any_of(names.begin(), names.end(), [](const std::string& name) { return name != "vfio"; });
}

void add_addresses_in(const std::string& path, NodeAddresses& all, const base::Deadline& deadline) {
    const auto netns = kernel::find_netns(path);
    if (!netns) return; // its last process has ended
    kernel::Socket route = kernel::Socket::open_in(*netns, kernel::Protocol::route, deadline);
    for (const kernel::Link& link : kernel::list_links(route))
        for (const kernel::Address& address : kernel::list_addresses(route, link.ifindex))
            all.in_use.emplace_back(address.prefix.address(), path);
}

} // namespace

std::string NodeAddresses::find_user(const base::IpPrefix& addresses, const std::vector<base::IpAddress>& known) const {
    for (const auto& [address, path] : in_use)
        if (addresses.contains(address) && std::find(known.begin(), known.end(), address) == known.end())
            return fmt::format("network namespace {} has {}", path, address);
    return {};
}

NodeAddresses list_node_addresses(const base::Deadline& deadline) {
    NodeAddresses all;
    if (!kernel::read_proc_view().sees_all()) {
        all.doubt = "this process is not in the node's PID namespace, and does not see all pods";
        return all;
    }
    if (has_devices_of_programs())
        all.doubt = "/dev/vfio has devices, and the kernel does not show the addresses of programs that drive them";
    const kernel::LiveNetns living = kernel::list_live_netns();
    if (!living.doubt.empty()) all.doubt = fmt::format("not all network namespaces can be seen: {}", living.doubt);
    std::vector<std::string> paths;
    for (const auto& [inode, path] : living.paths) paths.push_back(path);
    for (const kernel::HeldNetns& held : kernel::list_held_netns(living)) paths.push_back(held.path);
    for (const std::string& path : paths) {
        try {
            add_addresses_in(path, all, deadline);
        } catch (const base::Error& error) {
            all.doubt = fmt::format("network namespace {} cannot be examined: {}", path, error.what());
        }
    }
    return all;
}

} // namespace rdmanet::leases
