#include "examination.hpp"

#include "end_checks.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/inventory/files.hpp>
#include <rdmanet/kernel/proc_view.hpp>

#include <string>

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

} // namespace

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

FoundEndpoint examine(const Inventory& inventory, std::size_t place, const Interface* interface) {
    EndChecks checks(endpoint_in(inventory, place));
    (void)(check_interface_of(checks, interface) && check_device_of(checks, inventory, *interface));
    return checks.take();
}

} // namespace rdmanet::verify
