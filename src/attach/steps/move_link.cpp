#include "move_link.hpp"

#include "device_return.hpp"

#include "lookup/device_link.hpp"
#include "lookup/device_usable.hpp"
#include "lookup/request.hpp"

#include <rdmanet/base/text.hpp>
#include <rdmanet/kernel/device.hpp>
#include <rdmanet/kernel/link.hpp>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

namespace rdmanet::attach {
namespace {

using base::concat;
using base::quoted;
using kernel::Link;
using kernel::Socket;

/// A VF's own MAC follows its PF's decision with some drivers at once, with others when the VF is probed again: it is
/// set where it hasn't followed.
std::optional<base::MacAddress> mac_to_set(const config::Config& config, const cni::Request& request, unsigned ifindex,
                                           kernel::Socket& route) {
    const auto wanted = wanted_mac(request, config);
    if (!wanted) return std::nullopt;
    const auto now = kernel::find_link(route, ifindex);
    return now && now->mac() == wanted ? std::nullopt : wanted;
}

} // namespace

/// A name that is taken in the pod would let the move succeed, and the renaming in the same request fail. For one of
/// the alternative names the kernel refuses the move since Linux 6.6, and in stable kernels before; older ones don't
/// look at them.
void require_free_names(const std::string& device, const Link& link, PodSide& pod, const cni::Request& request) {
    for (const std::string& altname : link.altnames)
        if (const auto other = kernel::find_link_by_altname(pod.route, altname))
            refuse_device(device, concat("has the alternative name ", quoted(altname), ", and so has interface ",
                                         quoted(other->name), " in ", request.netns_path, ": remove one of them"));
}

Link move_link(const cni::Request& request, const config::Config& config, const base::BusAddress& address,
               const Link& link, PodSide& pod, const base::Deadline& deadline) {
    kernel::Socket route = kernel::Socket::open(kernel::Protocol::route, deadline);
    const std::string ifname = request.ifname().to_string();
    // An interface can't be called what it is called already, be it an alternative name.
    if (std::find(link.altnames.begin(), link.altnames.end(), ifname) != link.altnames.end())
        kernel::remove_altname(route, link.ifindex, ifname);
    kernel::LinkChange change{.mac = mac_to_set(config, request, link.ifindex, route), .mtu = config.mtu};
    if (link.name != ifname) change.name = request.ifname();
    change.state = kernel::AdminState::down;
    change.netns = &pod.netns;
    base::in_context(concat("device ", address), [&] { kernel::change_link(route, link.ifindex, change); });
    auto moved = kernel::find_link(pod.route, request.ifname());
    if (!moved || kernel::bus_address_of(moved->parent_device) != address)
        refuse_device(address, concat("is not in ", request.netns_path, " after the kernel moved it there"));
    return *std::move(moved);
}

Link follow_rdma(const cni::Request& request, const config::Config& config, const base::BusAddress& address,
                 PodSide& pod, const base::Deadline& deadline) {
    constexpr std::chrono::seconds kTimeout{10};
    kernel::Socket route = kernel::Socket::open(kernel::Protocol::route, deadline);
    for (const auto until = deadline.at_most(kTimeout); !until.passed();
         std::this_thread::sleep_for(std::chrono::milliseconds{10})) {
        if (const auto there = find_link_inside(address, pod.route)) {
            kernel::change_link(pod.route, there->ifindex, {.name = request.ifname(), .mtu = config.mtu});
            return kernel::find_link(pod.route, there->ifindex).value_or(*there);
        }
        if (const auto here = find_link_on_host(address, route))
            return move_link(request, config, address, *here, pod, deadline);
    }
    refuse_device(address, "got no IPoIB interface after its RDMA device moved: look for the reason in `dmesg`");
}

void revert_step(const state::MoveLink& step, const RevertContext& context) {
    const auto address = find_present_device(step.device);
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
    if (!wait_for_return(context, [&] { return find_link_on_host(*address, route); }) &&
        !end_by_unbinding(*address, context))
        throw base::Error(concat("the kernel has not returned the net device of ", *address,
                                 " to the host: a process or mount may still hold the pod's namespace"));
}

} // namespace rdmanet::attach
