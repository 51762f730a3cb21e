#include "steps.hpp"

#include "device_info.hpp"
#include "device_undo.hpp"
#include "interface_move.hpp"
#include "liveness.hpp"

#include <rdmanet/base/file.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/cni/delegate.hpp>
#include <rdmanet/kernel/link.hpp>
#include <rdmanet/kernel/netlink_socket.hpp>

#include <chrono>
#include <thread>

namespace rdmanet::attach {
namespace {

using base::concat;
using kernel::Link;

/// After ADD knew the index, the interface is looked up by it: it may have been renamed in the pod since.
std::optional<Link> find_child(kernel::Socket& inside, const state::CreateLink& step) {
    if (step.ifindex != 0) return kernel::find_link(inside, step.ifindex);
    const auto name = base::InterfaceName::parse(step.ifname);
    return name ? kernel::find_link(inside, *name) : std::nullopt;
}

/// Names and indexes are used again; kind, MAC and parent together are not, within one namespace.
bool is_ours(const Link& link, const state::CreateLink& step) {
    if (link.kind != step.kind) return false;
    const bool mac_tells = !step.mac.empty() && step.ifindex == 0;
    if (mac_tells && link.hardware_address_text() != step.mac) return false;
    return step.parent_ifindex == 0 || link.is_child_of(step.parent_ifindex);
}

constexpr const char* kIpoib = "ipoib";

/// An IPoIB child that its namespace gave back when it went (default_device_exit_net(), net/core/dev.c), under the name
/// that it had if that was free. Before ADD knew its address, the name tells it.
std::optional<Link> find_returned(kernel::Socket& outside, const state::CreateLink& step) {
    for (const Link& link : kernel::list_links(outside)) {
        if (link.kind != kIpoib || link.parent_ifindex != step.parent_ifindex) continue;
        const bool may_be_ours = link.name == step.ifname && !link.is_up(); // the kernel takes down what it moves
        if (step.mac.empty() ? may_be_ours : link.hardware_address_text() == step.mac) return link;
    }
    return std::nullopt;
}

/// Comes some time after the namespace's last user has gone, if it comes: the pod may have removed it.
void remove_returned(const state::CreateLink& step, const RevertContext& context) {
    constexpr std::chrono::seconds kTimeout{3};
    kernel::Socket outside = kernel::Socket::open(kernel::Protocol::route, context.deadline);
    const auto until = context.deadline.at_most(kTimeout);
    for (;;) {
        const auto link = find_returned(outside, step);
        if (link) kernel::remove_link(outside, link->ifindex);
        if (link || until.passed()) return;
        std::this_thread::sleep_for(std::chrono::milliseconds{20});
    }
}

/// What an IPoIB interface in connected mode has sent to is given up when it goes down, some time later and by a
/// worker (ipoib_cm_destroy_tx(), drivers/infiniband/ulp/ipoib/ipoib_cm.c), for which the removal doesn't wait: with
/// both in one the completion queue is taken from under the connections, and lost with a warning of the kernel's.
void take_down(kernel::Socket& inside, const Link& link) {
    if (link.is_up()) kernel::change_link(inside, link.ifindex, {.state = kernel::AdminState::down});
}

void revert_step(const state::CreateLink& step, const RevertContext& context) {
    const auto netns = find_recorded_netns(context.record, context.caller.netns_path);
    if (!netns && step.kind == kIpoib) remove_returned(step, context);
    if (!netns) return; // the kernel destroys macvlan and ipvlan children with their namespace
    kernel::Socket inside = kernel::Socket::open_in(*netns, kernel::Protocol::route, context.deadline);
    const auto link = find_child(inside, step);
    if (!link || !is_ours(*link, step)) return;
    if (link->kind == kIpoib) take_down(inside, *link);
    kernel::remove_link(inside, link->ifindex);
}

void revert_step(const state::WriteDeviceInfo& step, const RevertContext&) {
    remove_device_info(step.path);
}

/// By which the recorded namespace is found; empty if it is gone.
std::string path_of_netns(const RevertContext& context) {
    for (const std::string* path : {&context.record.netns.path, &context.caller.netns_path})
        if (find_netns_again(*path, context.record.netns)) return *path;
    return {};
}

void delegate_del_with(const std::string& config, const state::DelegateIpam& step, const RevertContext& context) {
    const state::AttachmentRecord& record = context.record;
    cni::delegate_del(
        {.plugin = step.plugin,
         .config = config,
         .container_id = record.key.container_id,
         .netns_path = path_of_netns(context),
         .ifname = record.key.ifname,
         .args = step.args,
         .path = context.caller.cni_path.empty() ? step.path : concat(context.caller.cni_path, ':', step.path)},
        context.deadline);
}

/// A configuration that the plugin can't read keeps it from releasing anything. Its correction reaches the node with
/// the next call, and the pod's addresses are told by container and interface.
void revert_step(const state::DelegateIpam& step, const RevertContext& context) {
    const Caller& caller = context.caller;
    try {
        delegate_del_with(step.config, step, context);
    } catch (const base::Error& error) {
        if (caller.ipam_type != step.plugin || caller.config == step.config) throw;
        const std::string with_own = error.what();
        base::in_context(concat(with_own, "; with the present configuration"),
                         [&] { delegate_del_with(caller.config, step, context); });
    }
}

std::string describe_step(const state::CreateLink& step) {
    return concat("interface \"", step.ifname, '"');
}
std::string describe_step(const state::KeepDevice& step) {
    return concat("device ", step.device);
}
std::string describe_step(const state::RebindDriver& step) {
    return concat("driver of ", step.device);
}
std::string describe_step(const state::ResetFunction& step) {
    return concat("reset of ", step.device);
}
std::string describe_step(const state::SetVf& step) {
    return concat("settings of VF ", step.number, " of PF ", step.pf);
}
std::string describe_step(const state::SetRepresentor& step) {
    return concat("representor \"", step.name, "\" of VF ", step.number, " of PF ", step.pf);
}
std::string describe_step(const state::MoveLink& step) {
    return concat("net device of ", step.device);
}
std::string describe_step(const state::MoveInterface& step) {
    return concat("interface \"", step.before.name, '"');
}
std::string describe_step(const state::MoveRdma& step) {
    return concat("RDMA device \"", step.name, "\" of ", step.device);
}
std::string describe_step(const state::WriteDeviceInfo& step) {
    return concat("device-info file ", step.path);
}
std::string describe_step(const state::DelegateIpam& step) {
    return concat("addresses of IPAM plugin \"", step.plugin, '"');
}

} // namespace

bool is_move(const state::Step& step) {
    return state::is_any_of<state::MoveLink, state::MoveRdma>(step);
}

bool waits_for(const state::Step& step, const state::Step& other) {
    if (state::is_any_of<state::SetVf, state::ResetFunction, state::RebindDriver>(step)) return is_move(other);
    return state::is_any_of<state::KeepDevice>(step) && state::is_any_of<state::MoveLink>(other);
}

std::string describe(const state::Step& step) {
    return std::visit([](const auto& concrete) { return describe_step(concrete); }, step);
}

std::string describe(const state::AttachmentRecord& record) {
    std::string text = concat(record.key);
    if (!record.pod.name.empty())
        text += concat(", pod ", base::quoted(base::scoped_name(record.pod.pod_namespace, record.pod.name)));
    for (const std::string& ip : record.ips) text += concat(", ", ip);
    return text;
}

void revert(const state::Step& step, const RevertContext& context) {
    std::visit([&](const auto& concrete) { revert_step(concrete, context); }, step);
}

std::optional<kernel::Netns> find_recorded_netns(const state::AttachmentRecord& record, const std::string& netns_path) {
    if (auto netns = find_netns_again(record.netns.path, record.netns)) return netns;
    return find_netns_again(netns_path, record.netns);
}

} // namespace rdmanet::attach
