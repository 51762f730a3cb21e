#include "device.hpp"

#include "addressing.hpp"
#include "device_claim.hpp"
#include "device_rdma.hpp"
#include "vf_state.hpp"

#include <rdmanet/base/text.hpp>
#include <rdmanet/cni/error.hpp>

#include <algorithm>
#include <array>

namespace rdmanet::attach {
namespace {

using base::concat;
using base::quoted;
using kernel::Link;

[[noreturn]] void refuse_device(const base::PciAddress& address, const std::string& why) {
    throw cni::CniError(cni::ErrorCode::parent, concat("device ", address, ' ', why));
}

base::PciAddress device_of(const Config& config) {
    if (config.device) return *config.device;
    throw cni::CniError(
        cni::ErrorCode::invalid_network_config,
        "deviceID is missing: the network needs a VF for each pod; give the NetworkAttachmentDefinition "
        "the annotation k8s.v1.cni.cncf.io/resourceName, and the pod a request for that resource");
}

kernel::VfOf find_vf_of(const base::PciAddress& address) {
    if (!kernel::pci_function_exists(address))
        refuse_device(address, "does not exist on this node: `lspci -D` lists those that do; the device plugin's list "
                               "may be older than the last change of sriov_numvfs");
    const auto of = kernel::find_pf_of(address);
    if (!of) refuse_device(address, "is no SR-IOV VF, \"attach\": \"sriov\" takes one");
    return *of;
}

std::optional<Link> find_device_link(const base::PciAddress& address, kernel::Socket& route) {
    for (const std::string& netdev : kernel::netdevs_of(address))
        if (const auto name = base::InterfaceName::parse(netdev))
            if (auto link = kernel::find_link(route, *name)) return link;
    const std::string driver = kernel::driver_of(address);
    if (is_user_space_driver(driver)) return std::nullopt;
    refuse_device(address, driver.empty()
                               ? std::string("has no driver: bind it to its network driver, or to vfio-pci")
                               : concat("has driver ", quoted(driver),
                                        " and no net device in the host's namespace: if a "
                                        "namespace that nobody records holds it, unbind and bind the driver"));
}

/// A name that is taken in the pod would let the move succeed, and the renaming in the same request fail. Of the alternative
/// names the kernel looks at none before Linux 6.6 and refuses the move after it.
void require_free_names(const DevicePlan& plan, PodSide& pod, const cni::Request& request) {
    for (const std::string& altname : plan.link->altnames)
        if (const auto other = kernel::find_link_by_altname(pod.route, altname))
            refuse_device(plan.address,
                          concat("has the alternative name ", quoted(altname), ", and so has interface ",
                                 quoted(other->name), " in ", request.netns_path, ": remove one of them"));
}

void require_mtu(const Config& config, const DevicePlan& plan, kernel::Socket& route) {
    const auto pf = kernel::find_link(route, plan.vf.pf_ifindex);
    if (!config.mtu || !pf || *config.mtu <= pf->mtu) return;
    throw cni::CniError(cni::ErrorCode::invalid_network_config,
                        concat("mtu: ", *config.mtu, " is above the MTU ", pf->mtu, " of PF ", quoted(pf->name),
                               ": lower \"mtu\", or raise the PF's"));
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
            .altnames = link.altnames};
}

/// The link's own MAC follows the PF's decision with some drivers at once, with others when the VF is probed again.
std::optional<base::MacAddress> mac_to_set(const DevicePlan& plan, const Config& config, const cni::Request& request,
                                           kernel::Socket& route) {
    const auto wanted = wanted_settings(request, config).mac;
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

kernel::VfSettings wanted_settings(const cni::Request& request, const Config& config) {
    kernel::VfSettings wanted = std::get<Sriov>(config.attach).settings;
    const auto requested = cni::requested_mac(request.conf, request.args);
    wanted.mac = requested ? std::optional(requested->mac) : config.mac;
    return wanted;
}

kernel::VfId find_vf_id(const base::PciAddress& address, const kernel::VfOf& of, kernel::Socket& route) {
    const auto uplink = kernel::uplink_of(of.pf);
    const auto name = uplink ? base::InterfaceName::parse(*uplink) : std::nullopt;
    const auto link = name ? kernel::find_link(route, *name) : std::nullopt;
    if (!link)
        refuse_device(address, concat("has its PF ", of.pf,
                                      " without a net device in the host's namespace, through which "
                                      "VFs are set up: bind the PF to its network driver"));
    return {.pf_ifindex = link->ifindex, .pf = link->name, .number = of.number};
}

std::string mac_without_link(const DevicePlan& plan) {
    const auto& mac = plan.changes.mac ? plan.changes.mac : plan.before.mac;
    return mac && !mac->is_zero() ? mac->to_string() : std::string();
}

bool is_user_space_driver(std::string_view driver) {
    constexpr std::array<std::string_view, 3> drivers = {"vfio-pci", "uio_pci_generic", "igb_uio"};
    return std::find(drivers.begin(), drivers.end(), driver) != drivers.end();
}

DevicePlan plan_device(const cni::Request& request, const Config& config, const Session& session, PodSide& pod,
                       const base::Deadline& deadline) {
    const base::PciAddress address = device_of(config);
    const kernel::VfOf of = find_vf_of(address);
    auto claim = claim_device(address, session, deadline);
    kernel::Socket route = kernel::Socket::open(kernel::Protocol::route, deadline);
    DevicePlan plan{.address = address,
                    .of = of,
                    .vf = find_vf_id(address, of, route),
                    .before = {},
                    .changes = {},
                    .link = find_device_link(address, route),
                    .moving = {},
                    .rdma = {},
                    .claim = std::move(claim)};
    const auto settings = kernel::find_vf(route, plan.vf);
    if (!settings) refuse_device(address, concat("is ", plan.vf, ", of which the PF tells nothing"));
    plan.before = *settings;
    plan.changes = kernel::difference(wanted_settings(request, config), *settings);
    require_mtu(config, plan, route);
    if (plan.link) {
        require_free_names(plan, pod, request);
        plan_rdma(plan, config, request, session.node.log, deadline);
    }
    return plan;
}

std::vector<state::Step> device_steps(const cni::Request& request, const DevicePlan& plan) {
    std::vector<state::Step> steps;
    steps.emplace_back(keep_step(plan));
    if (!plan.changes.empty()) steps.emplace_back(to_step(plan.of, kernel::restrict_to(plan.before, plan.changes)));
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
    if (!plan.changes.empty()) {
        kernel::Socket route = kernel::Socket::open(kernel::Protocol::route, deadline);
        kernel::change_vf(route, plan.vf, plan.changes);
    }
    if (!plan.link) return std::nullopt;
    Link link = move_link(request, config, plan, pod, deadline);
    move_rdma(plan.moving, session.records, pod.netns, deadline);
    return link;
}

} // namespace rdmanet::attach
