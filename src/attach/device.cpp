#include "device.hpp"

#include "addressing.hpp"
#include "device_claim.hpp"
#include "device_rdma.hpp"
#include "vf_plan.hpp"
#include "vf_state.hpp"

#include <rdmanet/base/text.hpp>
#include <rdmanet/cni/error.hpp>
#include <rdmanet/kernel/route.hpp>

#include <algorithm>
#include <array>

namespace rdmanet::attach {
namespace {

using base::BusAddress;
using base::concat;
using base::quoted;
using kernel::Link;

std::optional<Link> find_device_link(const BusAddress& address, kernel::Socket& route) {
    for (const std::string& netdev : kernel::netdevs_of(address))
        if (const auto name = base::InterfaceName::parse(netdev))
            if (auto link = kernel::find_link(route, *name)) return link;
    const std::string driver = kernel::driver_of(address);
    if (is_user_space_driver(driver)) return std::nullopt;
    refuse_device(address,
                  driver.empty()
                      ? std::string("has no driver: bind it to its network driver, or to vfio-pci")
                      : concat("has driver ", quoted(driver), " and no net device in the host's namespace: if a ",
                               "namespace that nobody records holds it, unbind and bind the driver"));
}

/// A name that is taken in the pod would let the move succeed, and the renaming in the same request fail. Of the alternative
/// names the kernel looks at none before Linux 6.6 and refuses the move after it.
void require_free_names(const BusAddress& address, const Link& link, PodSide& pod, const cni::Request& request) {
    for (const std::string& altname : link.altnames)
        if (const auto other = kernel::find_link_by_altname(pod.route, altname))
            refuse_device(address, concat("has the alternative name ", quoted(altname), ", and so has interface ",
                                          quoted(other->name), " in ", request.netns_path, ": remove one of them"));
}

/// What the node itself needs.
void require_spare(const BusAddress& address, const Link& link, kernel::Socket& route) {
    if (link.master_ifindex) {
        const auto master = kernel::find_link(route, *link.master_ifindex);
        refuse_device(address, concat("is ", quoted(link.name), ", which belongs to ",
                                      quoted(master ? master->name : std::string("?")),
                                      " on the host: take it out there, or use another device"));
    }
    for (const base::Family family : {base::Family::v4, base::Family::v6})
        if (const auto found = kernel::find_default_route(route, family); found && found->ifindex == link.ifindex)
            refuse_device(address, concat("is ", quoted(link.name),
                                          ", by which the node's default route goes: use another device"));
}

state::KeepDevice keep_step(const DevicePlan& plan) {
    if (!plan.link) return {.device = plan.address.to_string()};
    const Link& link = *plan.link;
    return {.device = plan.address.to_string(),
            .name = link.name,
            .mac = link.mac() ? link.mac()->to_string() : std::string(),
            .mtu = link.mtu,
            .up = link.is_up(),
            .promiscuous = link.is_promiscuous(),
            .all_multicast = link.is_all_multicast(),
            .ipv6_address_mode = link.ipv6_address_mode,
            .altnames = link.altnames};
}

/// What the pod asked for comes before the configuration's. A VF's own MAC follows its PF's decision with some drivers at
/// once, with others when the VF is probed again: it is set where it hasn't followed.
std::optional<base::MacAddress> mac_to_set(const DevicePlan& plan, const Config& config, const cni::Request& request,
                                           kernel::Socket& route) {
    const auto requested = cni::requested_mac(request.conf, request.args);
    const auto wanted = requested ? std::optional(requested->mac) : config.mac;
    const auto now = kernel::find_link(route, plan.link->ifindex);
    return now && now->mac() == wanted ? std::nullopt : wanted;
}

Link move_link(const cni::Request& request, const Config& config, const DevicePlan& plan, PodSide& pod,
               const base::Deadline& deadline) {
    kernel::Socket route = kernel::Socket::open(kernel::Protocol::route, deadline);
    const unsigned ifindex = plan.link->ifindex;
    const std::string ifname = request.ifname().to_string();
    // An interface can't be called what it is called already, be it an alternative name.
    const auto& altnames = plan.link->altnames;
    if (std::find(altnames.begin(), altnames.end(), ifname) != altnames.end())
        kernel::remove_altname(route, ifindex, ifname);
    kernel::LinkChange change{.mac = mac_to_set(plan, config, request, route), .mtu = config.mtu};
    if (plan.link->name != ifname) change.name = request.ifname();
    change.state = kernel::AdminState::down;
    change.netns = &pod.netns;
    base::in_context(concat("device ", plan.address), [&] { kernel::change_link(route, ifindex, change); });
    auto link = kernel::find_link(pod.route, request.ifname());
    if (!link || link->parent_device != plan.address.to_string())
        refuse_device(plan.address, concat("is not in ", request.netns_path, " after the kernel moved it there"));
    return *std::move(link);
}

} // namespace

void refuse_device(const BusAddress& address, const std::string& why) {
    throw cni::CniError(cni::ErrorCode::parent, concat("device ", address, ' ', why));
}

std::string mac_without_link(const DevicePlan& plan) {
    if (!plan.vf) return {};
    const auto& mac = plan.vf->changes.mac ? plan.vf->changes.mac : plan.vf->before.mac;
    return mac && !mac->is_zero() ? mac->to_string() : std::string();
}

bool is_user_space_driver(std::string_view driver) {
    constexpr std::array<std::string_view, 3> drivers = {"vfio-pci", "uio_pci_generic", "igb_uio"};
    return std::find(drivers.begin(), drivers.end(), driver) != drivers.end();
}

DevicePlan plan_device(const cni::Request& request, const Config& config, const Session& session, PodSide& pod,
                       const BusAddress& address, const base::Deadline& deadline) {
    if (!kernel::device_exists(address))
        refuse_device(address, "does not exist on this node: `lspci -D` lists those that do; the device plugin's list "
                               "may be older than the last change of sriov_numvfs");
    DevicePlan plan{.address = address,
                    .vf = {},
                    .link = {},
                    .moving = {},
                    .rdma = {},
                    .claim = claim_device(address, session, deadline)};
    kernel::Socket route = kernel::Socket::open(kernel::Protocol::route, deadline);
    if (std::holds_alternative<Sriov>(config.attach)) plan.vf = plan_vf(address, request, config, route);
    if (!config.is_rdma_only()) plan.link = find_device_link(address, route);
    if (plan.link) {
        require_spare(address, *plan.link, route);
        require_free_names(address, *plan.link, pod, request);
    }
    if (plan.link || config.is_rdma_only()) plan_rdma(plan, config, request, session.node.log, deadline);
    return plan;
}

std::vector<state::Step> device_steps(const cni::Request& request, const Config& config, const DevicePlan& plan) {
    std::vector<state::Step> steps;
    if (!config.is_rdma_only()) steps.emplace_back(keep_step(plan));
    if (plan.vf && !plan.vf->changes.empty())
        steps.emplace_back(to_step(plan.vf->of, kernel::restrict_to(plan.vf->before, plan.vf->changes)));
    if (plan.link)
        steps.emplace_back(state::MoveLink{.device = plan.address.to_string(), .ifname = request.ifname().to_string()});
    for (const kernel::RdmaDevice& device : plan.moving)
        steps.emplace_back(state::MoveRdma{.device = plan.address.to_string(),
                                           .index = device.index,
                                           .node_guid = device.node_guid,
                                           .name = device.name});
    return steps;
}

std::optional<Link> move_device(const cni::Request& request, const Config& config, const DevicePlan& plan,
                                const Session& session, PodSide& pod, const base::Deadline& deadline) {
    if (plan.vf && !plan.vf->changes.empty()) {
        kernel::Socket route = kernel::Socket::open(kernel::Protocol::route, deadline);
        kernel::change_vf(route, plan.vf->id, plan.vf->changes);
    }
    std::optional<Link> link;
    if (plan.link) link = move_link(request, config, plan, pod, deadline);
    move_rdma(plan.moving, session.records, pod.netns, deadline);
    return link;
}

} // namespace rdmanet::attach
