#include <rdmanet/verify/endpoint.hpp>

#include "end_checks.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/inventory/files.hpp>
#include <rdmanet/kernel/netns.hpp>
#include <rdmanet/kernel/proc_view.hpp>

#include <cstddef>

namespace rdmanet::verify {
namespace {

using inventory::Interface;
using inventory::Inventory;

std::string name_of(const inventory::Namespace& home) {
    if (std::string known = home.to_string(); !known.empty()) return known;
    // In the initial PID namespace, the first process is the node's. In another one, it is a container's.
    return kernel::read_proc_view().sees_all() ? "host" : fmt::format("net:[{}]", home.inode);
}

Endpoint endpoint_in(const Inventory& inventory, std::size_t place) {
    const inventory::Namespace& home = inventory.namespaces[place];
    Endpoint end;
    end.node = inventory.host;
    end.boot_id = inventory::line_of("/proc/sys/kernel/random/boot_id");
    end.pod = name_of(home);
    end.netns = place == 0 ? std::string() : home.path;
    end.netns_inode = home.inode;
    return end;
}

/// `place` is the number of the pod's namespace. `interface` is nullptr if the pod has none with RDMA.
FoundEndpoint examine(const Inventory& inventory, std::size_t place, const Interface* interface) {
    EndChecks checks(endpoint_in(inventory, place));
    (void)(check_interface_of(checks, interface) && check_device_of(checks, inventory, *interface));
    return checks.take();
}

std::optional<std::size_t> find_inode(const Inventory& inventory, std::uint64_t inode) {
    for (std::size_t place = 0; place < inventory.namespaces.size(); ++place)
        if (inventory.namespaces[place].inode == inode) return place;
    return std::nullopt;
}

/// The number of the pod's namespace.
std::size_t find_place(const Inventory& inventory, const std::string& pod) {
    if (pod == ".") {
        if (const auto place = find_inode(inventory, kernel::Netns::current().id().inode)) return *place;
        throw base::Error("pod \".\": the network namespace of this process was not found: run it as root");
    }
    // A namespace has many paths. NAMESPACE/NAME is none of them.
    if (const auto netns = pod.starts_with('/') ? kernel::find_netns(pod) : std::nullopt)
        if (const auto place = find_inode(inventory, netns->id().inode)) return *place;
    return inventory::get_pod(inventory, pod);
}

/// Throws if the choice is ambiguous. nullptr: the pod has no such interface.
const Interface* find_interface(const Inventory& inventory, std::size_t place, const EndpointChoice& choice) {
    std::vector<const Interface*> all;
    std::vector<std::string> names;
    for (const Interface& each : inventory.interfaces) {
        if (each.net.place != place) continue;
        if (choice.interface == each.net.name) return &each;
        all.push_back(&each);
        names.push_back(each.net.name);
    }
    if (!choice.interface.empty() && !all.empty())
        throw base::Error(fmt::format("pod {} has no interface {} that can use RDMA: give one of {}",
                                      base::quoted(choice.pod), base::quoted(choice.interface), base::join(names)));
    if (all.size() > 1)
        throw base::Error(
            fmt::format("pod {} has several interfaces that can use RDMA: give one with `--interface`: {}",
                        base::quoted(choice.pod), base::join(names)));
    return all.empty() ? nullptr : all.front();
}

} // namespace

std::string Endpoint::to_string() const {
    return interface.empty() ? pod : fmt::format("{} {}", pod, interface);
}

bool Endpoint::is_same_as(const Endpoint& other) const {
    return boot_id == other.boot_id && netns_inode == other.netns_inode && ifindex == other.ifindex &&
           device == other.device;
}

bool EndChecks::passed(const std::string& id, const std::string& what) {
    found_.checks.push_back({.id = id, .subject = found_.endpoint.to_string(), .what = what});
    return true;
}

bool EndChecks::warned(const std::string& id, const std::string& what, const std::string& fix) {
    found_.checks.push_back(
        {.id = id, .subject = found_.endpoint.to_string(), .outcome = Outcome::warning, .what = what, .fix = fix});
    return true;
}

bool EndChecks::failed(const std::string& id, const std::string& what, const std::string& fix) {
    found_.checks.push_back(
        {.id = id, .subject = found_.endpoint.to_string(), .outcome = Outcome::failure, .what = what, .fix = fix});
    return false;
}

FoundEndpoint find_endpoint(const Inventory& inventory, const EndpointChoice& choice) {
    const std::size_t place = find_place(inventory, choice.pod);
    return examine(inventory, place, find_interface(inventory, place, choice));
}

} // namespace rdmanet::verify
