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

std::string move_to_host(const Link& link, Socket& inside, Socket& outside, const kernel::Netns& home) {
    kernel::change_link(inside, link.ifindex, {.state = kernel::AdminState::down});
    remove_taken_altnames(link, inside, outside);
    try {
        kernel::change_link(inside, link.ifindex, {.netns = &home});
        return link.name;
    } catch (const kernel::NetlinkError& error) {
        if (error.errno_value() != EEXIST) throw;
        std::string unlikely = fmt::format("{}{}", kNameOnReturn, link.ifindex);
        kernel::change_link(inside, link.ifindex, {.name = base::InterfaceName::parse(unlikely), .netns = &home});
        return unlikely;
    }
}

bool end_by_unbinding(const BusAddress& address, const RevertContext& context) {
    if (!context.is_of_owner) return false;
    const bool loses_driver = has_step(context.record, kResetFunction) || has_step(context.record, kRebindDriver);
    if (!loses_driver || kernel::count_vfs_of(address) != 0) return false;
    auto rdma = Socket::find_rdma(context.deadline);
    if (!user_of(address, rdma ? &*rdma : nullptr).empty()) return false;
    const base::FileLock lock = context.records.lock_rdma(context.deadline);
    kernel::unbind(address);
    return true;
}

} // namespace rdmanet::attach
