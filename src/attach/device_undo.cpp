#include "device_undo.hpp"

#include "device.hpp"
#include "device_link.hpp"
#include "device_rdma.hpp"
#include "device_reset.hpp"
#include "device_usable.hpp"
#include "link_settings.hpp"
#include "vf_plan.hpp"
#include "vf_state.hpp"

#include <rdmanet/base/text.hpp>
#include <rdmanet/kernel/netlink_socket.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>

namespace rdmanet::attach {
namespace {

using base::BusAddress;
using base::concat;
using base::quoted;
using kernel::Link;
using kernel::RdmaDevice;
using kernel::Socket;

/// The kernel destroys a namespace, and returns what was in it, some time after its last user has gone: the worker that
/// does so waits for RCU and takes many at once (cleanup_net(), net/core/net_namespace.c).
constexpr std::chrono::seconds kReturnTimeout{15};

/// The result of `find` as soon as it has one, nullopt after the time that a return may take.
template <class Find>
auto wait_for(const RevertContext& context, const Find& find) -> decltype(find()) {
    const auto until = context.deadline.at_most(kReturnTimeout);
    for (auto pause = std::chrono::milliseconds{1};; pause = std::min(pause * 2, std::chrono::milliseconds{50})) {
        if (auto found = find(); found || until.passed()) return found;
        std::this_thread::sleep_for(pause);
    }
}

/// nullopt if the device has left the machine.
std::optional<BusAddress> find_device(const std::string& device) {
    const auto address = BusAddress::parse(device);
    return address && kernel::device_exists(*address) ? address : std::nullopt;
}

/// Whether it may have a net and an RDMA device. Who took its driver, or was killed between taking and binding it,
/// ended both.
bool has_network_driver(const BusAddress& address) {
    const std::string driver = kernel::driver_of(address);
    return !driver.empty() && !is_user_space_driver(driver);
}

/// The kernel refuses a move for an alternative name that is taken where it goes (__dev_change_net_namespace(),
/// net/core/dev.c, since Linux 6.6 and in stable kernels before), even under a new name. Whoever took it keeps it.
void remove_taken_altnames(const Link& link, Socket& inside, Socket& outside) {
    for (const std::string& altname : link.altnames)
        if (kernel::find_link_by_altname(outside, altname)) kernel::remove_altname(inside, link.ifindex, altname);
}

std::optional<RdmaDevice> find_rdma(Socket& rdma, const state::MoveRdma& step) {
    auto device = kernel::find_rdma_device(rdma, step.index);
    return device && device->node_guid == step.node_guid ? device : std::nullopt;
}

/// Whether ADD knew it: moved it, or left it where it was.
bool is_known(const RdmaDevice& device, const state::AttachmentRecord& record) {
    return std::any_of(record.steps.begin(), record.steps.end(), [&](const state::Step& step) {
        const auto* moved = std::get_if<state::MoveRdma>(&step);
        if (moved == nullptr) return false;
        const auto& stayed = moved->stayed;
        return (moved->index == device.index && moved->node_guid == device.node_guid) ||
               std::find(stayed.begin(), stayed.end(), device.index) != stayed.end();
    });
}

/// A driver that was bound anew has made other RDMA devices, on the host: ours are gone, as they are with the driver.
/// Those that ADD knew tell nothing: the kernel returns one after the other.
bool is_gone(const BusAddress& address, const state::AttachmentRecord& record, Socket& rdma) {
    if (!has_network_driver(address)) return true;
    const RdmaDevices present = find_rdma_devices(address, rdma);
    return std::any_of(present.begin(), present.end(),
                       [&](const RdmaDevice& device) { return !is_known(device, record); });
}

/// A function that is to be reset, or whose driver is to be bound anew, loses its driver in any case: that ends its net
/// and RDMA devices in whichever namespace the pod has hidden them. False where it must not. Nothing tells whose that
/// namespace is: once a record has outlived its pod, it may be that of a living one, which got the device otherwise.
bool end_by_unbinding(const BusAddress& address, const RevertContext& context) {
    if (!context.is_of_owner) return false;
    const bool loses_driver = context.record.find_step<state::ResetFunction>() != nullptr ||
                              context.record.find_step<state::RebindDriver>() != nullptr;
    if (!loses_driver || kernel::count_vfs_of(address) != 0) return false;
    auto rdma = Socket::find_rdma(context.deadline);
    if (!user_of(address, rdma ? &*rdma : nullptr).empty()) return false;
    const base::FileLock lock = context.records.lock_rdma(context.deadline);
    kernel::unbind(address);
    return true;
}

void send_rdma_home(const state::MoveRdma& step, const kernel::Netns& pod, const RevertContext& context) {
    auto inside = Socket::find_rdma_in(pod, context.deadline);
    if (!inside || !find_rdma(*inside, step)) return;
    const base::FileLock lock = context.records.lock_rdma(context.deadline);
    const kernel::Netns home = kernel::Netns::current();
    const kernel::NetnsScope scope(pod); // the device must be in the namespace of socket and thread
    kernel::move_rdma_device(*inside, step.index, home);
}

/// Never bound anew, or since it got its settings back: nobody's device is taken away for nothing. The PF may have
/// refused one of its GUIDs at the first attempt, so both count.
bool has_guids(const BusAddress& address, const state::RebindDriver& step, const RevertContext& context) {
    Socket route = Socket::open(kernel::Protocol::route, context.deadline);
    const auto link = find_link_on_host(address, route);
    const auto guid = link ? link->port_guid() : std::nullopt;
    if (!guid || guid->to_string() != step.guid) return false;
    auto rdma = Socket::find_rdma(context.deadline);
    const auto devices = rdma ? find_rdma_devices(address, *rdma) : RdmaDevices{};
    return step.node_guid == 0 || devices.empty() || devices.front().node_guid == step.node_guid;
}

} // namespace

std::string send_home(const Link& link, Socket& inside, Socket& outside, const kernel::Netns& home) {
    kernel::change_link(inside, link.ifindex, {.state = kernel::AdminState::down});
    remove_taken_altnames(link, inside, outside);
    try {
        kernel::change_link(inside, link.ifindex, {.netns = &home});
        return link.name;
    } catch (const kernel::NetlinkError& error) {
        if (error.errno_value() != EEXIST) throw;
        std::string unlikely = concat(kNameOnReturn, link.ifindex);
        kernel::change_link(inside, link.ifindex, {.name = base::InterfaceName::parse(unlikely), .netns = &home});
        return unlikely;
    }
}

void revert_step(const state::KeepDevice& step, const RevertContext& context) {
    const auto address = find_device(step.device);
    if (!address || step.name.empty() || !has_network_driver(*address)) return;
    Socket route = Socket::open(kernel::Protocol::route, context.deadline);
    auto link = wait_for(context, [&] { return find_link_on_host(*address, route); }); // drivers may take their time
    if (!link)
        throw base::Error(concat("its net device is not on the host: `dmesg` says what its driver ",
                                 kernel::driver_of(*address), " misses; bind it anew"));
    restore_link(route, *link, step, context.log);
}

void revert_step(const state::RebindDriver& step, const RevertContext& context) {
    const auto address = find_device(step.device);
    if (!address || has_guids(*address, step, context)) return;
    const base::FileLock lock = context.records.lock_rdma(context.deadline);
    kernel::bind_anew(*address, step.driver);
}

void revert_step(const state::SetVf& step, const RevertContext& context) {
    const auto pf = base::PciAddress::parse(step.pf);
    // A PF that loses its driver takes its VFs along, and the settings with them.
    if (!pf || kernel::count_vfs_of(*pf) <= step.number) return;
    Socket route = Socket::open(kernel::Protocol::route, context.deadline);
    const auto vf = find_vf_id({.pf = *pf, .number = step.number}, route);
    if (!vf)
        throw base::Error(concat("PF ", *pf, " has no net device in the host's namespace, through which ",
                                 "VFs are set up: bring it back, or set sriov_numvfs to 0"));
    const auto present = kernel::find_vf(route, *vf);
    if (!present) return;
    std::string refused;
    for (const kernel::VfSettings& setting : kernel::each_of(kernel::difference(to_settings(step.before), *present)))
        try {
            kernel::change_vf(route, *vf, setting);
        } catch (const base::Error& error) {
            refused += concat(refused.empty() ? "" : "; ", error.what());
        }
    if (!refused.empty()) throw base::Error(refused);
}

void revert_step(const state::MoveLink& step, const RevertContext& context) {
    const auto address = find_device(step.device);
    if (!address) return;
    Socket route = Socket::open(kernel::Protocol::route, context.deadline);
    if (find_link_on_host(*address, route)) return;
    if (const auto netns = find_recorded_netns(context.record, context.caller.netns_path)) {
        Socket inside = Socket::open_in(*netns, kernel::Protocol::route, context.deadline);
        if (const auto link = find_link_inside(*address, inside)) {
            (void)send_home(*link, inside, route, kernel::Netns::current());
            return;
        }
    }
    if (!has_network_driver(*address)) return;
    if (!wait_for(context, [&] { return find_link_on_host(*address, route); }) && !end_by_unbinding(*address, context))
        throw base::Error(concat("the kernel has not returned the net device of ", *address,
                                 " to the host: a process or mount may still hold the pod's namespace"));
}

void revert_step(const state::MoveRdma& step, const RevertContext& context) {
    const auto address = find_device(step.device);
    auto outside = Socket::find_rdma(context.deadline);
    if (!address || !outside) return;
    if (const auto netns = find_recorded_netns(context.record, context.caller.netns_path))
        send_rdma_home(step, *netns, context);
    const auto returned = wait_for(context, [&]() -> std::optional<RdmaDevice> {
        if (auto device = find_rdma(*outside, step)) return device;
        return is_gone(*address, context.record, *outside) ? std::optional(RdmaDevice{}) : std::nullopt;
    });
    if (!returned && end_by_unbinding(*address, context)) return;
    if (!returned)
        throw base::Error("the kernel has not returned it to the host: a process or mount may still hold "
                          "the pod's namespace, `rdmanet gc` names it");
    if (!returned->name.empty())
        restore_rdma_name(*outside, *returned, *address, step.name, name_keeper(context), context.deadline);
}

} // namespace rdmanet::attach
