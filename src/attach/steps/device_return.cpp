#include "device_return.hpp"

#include "kinds.hpp"

#include "lookup/device_usable.hpp"
#include "lookup/rdma_devices.hpp"

#include <rdmanet/base/file_lock.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/kernel/device.hpp>

#include <cerrno>

namespace rdmanet::attach {
namespace {

using base::BusAddress;
using kernel::Link;
using kernel::Socket;

/// Removes alternative names that another interface on the host has. The kernel would refuse the move because of them
/// (__dev_change_net_namespace(), net/core/dev.c, since Linux 6.6 and in stable kernels before), even with a new name.
void remove_taken_altnames(const Link& link, Socket& inside, Socket& outside) {
    for (const std::string& altname : link.altnames)
        if (kernel::find_link_by_altname(outside, altname)) kernel::remove_altname(inside, link.ifindex, altname);
}

} // namespace

std::optional<BusAddress> find_present_device(const std::string& device) {
    const auto address = BusAddress::parse(device);
    return address && kernel::device_exists(*address) ? address : std::nullopt;
}

std::string unbind_command(const BusAddress& address) {
    return fmt::format("echo {} >/sys/{}/driver/unbind", address, address.sysfs_path());
}

std::string bind_command(const BusAddress& address, const std::string& driver) {
    return fmt::format("echo {} >/sys/bus/{}/drivers/{}/bind", address, to_string(address.bus()), driver);
}

bool has_network_driver(const BusAddress& address) {
    const std::string driver = kernel::driver_of(address);
    return !driver.empty() && !is_user_space_driver(driver);
}

// Each rename waits for RCU (dev_change_name(), net/core/dev.c). In the request that moves, it waits less.
std::string move_to_host(const Link& link, const std::string& name, Socket& inside, Socket& outside,
                         const kernel::Netns& home) {
    remove_taken_altnames(link, inside, outside);
    kernel::LinkChange change{.state = kernel::AdminState::down, .netns = &home};
    if (link.name != name) change.name = base::InterfaceName::parse(name);
    try {
        kernel::change_link(inside, link.ifindex, change);
        return change.name ? name : link.name;
    } catch (const kernel::NetlinkError& error) {
        if (error.errno_value() != EEXIST) throw;
    }
    // The kernel moves before it renames. So it refuses the move only if both names are taken (do_setlink(),
    // net/core/rtnetlink.c).
    if (!kernel::find_link(inside, link.ifindex)) return link.name;
    std::string unlikely = fmt::format("{}{}", kNameOnReturn, link.ifindex);
    change.name = base::InterfaceName::parse(unlikely);
    kernel::change_link(inside, link.ifindex, change);
    return unlikely;
}

bool end_by_unbinding(const BusAddress& address, const Undo& undo) {
    if (!undo.is_of_owner) return false;
    const bool loses_driver = undo.record.has_step<state::ResetFunction, state::RebindDriver>();
    if (!loses_driver || kernel::count_vfs_of(address) != 0) return false;
    auto rdma = Socket::find_rdma(undo.call.deadline);
    if (!user_of(address, rdma ? &*rdma : nullptr).empty()) return false;
    const base::FileLock lock = undo.call.records.lock_rdma(undo.call.deadline);
    kernel::unbind(address);
    return true;
}

} // namespace rdmanet::attach
