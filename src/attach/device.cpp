#include "device.hpp"

#include "addressing.hpp"
#include "device_bind.hpp"
#include "device_claim.hpp"
#include "device_link.hpp"
#include "device_rdma.hpp"
#include "device_reset.hpp"
#include "device_usable.hpp"
#include "guid_claim.hpp"
#include "link_settings.hpp"
#include "port_state.hpp"
#include "rdma_choice.hpp"
#include "rdma_names.hpp"
#include "representor.hpp"
#include "vf_plan.hpp"
#include "vf_state.hpp"

#include <rdmanet/base/text.hpp>
#include <rdmanet/cni/error.hpp>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

namespace rdmanet::attach {
namespace {

using base::BusAddress;
using base::concat;
using base::quoted;
using kernel::Link;

/// The interface would be lost to the pod, addresses and all: the kernel makes it anew when its RDMA device moves, see
/// follow_rdma().
void require_no_ipoib(const BusAddress& address, kernel::Socket& route, PodSide& pod) {
    auto link = find_link_inside(address, pod.route);
    if (!link) link = find_link_on_host(address, route);
    if (link && link->is_infiniband())
        refuse_device(address, concat("is InfiniBand, the kernel destroys its IPoIB interface ", quoted(link->name),
                                      " when its RDMA device moves alone: instead of the plugin before this one, let ",
                                      "\"attach\": \"sriov\" or \"host-device\" move both"));
}

state::KeepDevice keep_step(const DevicePlan& plan, const base::Deadline& deadline, const base::Logger& log) {
    return plan.link ? keep_link(plan.address.to_string(), *plan.link, deadline, log)
                     : state::KeepDevice{.device = plan.address.to_string()};
}

/// A VF's own MAC follows its PF's decision with some drivers at once, with others when the VF is probed again: it is
/// set where it hasn't followed.
std::optional<base::MacAddress> mac_to_set(const config::Config& config, const cni::Request& request, unsigned ifindex,
                                           kernel::Socket& route) {
    const auto wanted = wanted_mac(request, config);
    if (!wanted) return std::nullopt;
    const auto now = kernel::find_link(route, ifindex);
    return now && now->mac() == wanted ? std::nullopt : wanted;
}

/// From the host into the pod, where it is down.
Link move_link(const cni::Request& request, const config::Config& config, const DevicePlan& plan, const Link& link,
               PodSide& pod, const base::Deadline& deadline) {
    kernel::Socket route = kernel::Socket::open(kernel::Protocol::route, deadline);
    const std::string ifname = request.ifname().to_string();
    // An interface can't be called what it is called already, be it an alternative name.
    if (std::find(link.altnames.begin(), link.altnames.end(), ifname) != link.altnames.end())
        kernel::remove_altname(route, link.ifindex, ifname);
    kernel::LinkChange change{.mac = mac_to_set(config, request, link.ifindex, route), .mtu = config.mtu};
    if (link.name != ifname) change.name = request.ifname();
    change.state = kernel::AdminState::down;
    change.netns = &pod.netns;
    base::in_context(concat("device ", plan.address), [&] { kernel::change_link(route, link.ifindex, change); });
    auto moved = kernel::find_link(pod.route, request.ifname());
    if (!moved || kernel::bus_address_of(moved->parent_device) != plan.address)
        refuse_device(plan.address, concat("is not in ", request.netns_path, " after the kernel moved it there"));
    return *std::move(moved);
}

/// Where the IPoIB interface is once the RDMA device is in the pod, which makes the kernel make it anew: in the pod
/// since Linux 6.17, before on the host (drivers/infiniband/ulp/ipoib/ipoib_main.c, ipoib_intf_init()).
Link follow_rdma(const cni::Request& request, const config::Config& config, const DevicePlan& plan, PodSide& pod,
                 const base::Deadline& deadline) {
    constexpr std::chrono::seconds kTimeout{10};
    kernel::Socket route = kernel::Socket::open(kernel::Protocol::route, deadline);
    for (const auto until = deadline.at_most(kTimeout); !until.passed();
         std::this_thread::sleep_for(std::chrono::milliseconds{10})) {
        if (const auto there = find_link_inside(plan.address, pod.route)) {
            kernel::change_link(pod.route, there->ifindex, {.name = request.ifname(), .mtu = config.mtu});
            return kernel::find_link(pod.route, there->ifindex).value_or(*there);
        }
        if (const auto here = find_link_on_host(plan.address, route))
            return move_link(request, config, plan, *here, pod, deadline);
    }
    refuse_device(plan.address, "got no IPoIB interface after its RDMA device moved: look for the reason in `dmesg`");
}

/// A driver that was bound anew draws the lowest numbers that are free by then.
void require_same_numbers(const RdmaDevices& made, const std::vector<std::string>& before, kernel::Socket& rdma) {
    const std::vector<std::string> after = list_uverbs(made, rdma);
    for (std::size_t at = 0; at < std::min(before.size(), after.size()); ++at)
        if (!before[at].empty() && !after[at].empty())
            require_same_uverbs(made[at].name, before[at], after[at], "when its driver was bound anew for its GUID");
}

/// The driver bound anew, with the new GUID. What it made of the device is there again when this returns.
RdmaDevices rebind(const DevicePlan& plan, const Session& session, const base::Deadline& deadline) {
    constexpr std::chrono::seconds kTimeout{20};
    const base::FileLock lock = session.records.lock_rdma(deadline);
    kernel::Socket route = kernel::Socket::open(kernel::Protocol::route, deadline);
    kernel::Socket rdma = kernel::Socket::open(kernel::Protocol::rdma, deadline);
    const std::vector<std::string> uverbs = list_uverbs(find_rdma_devices(plan.address, rdma), rdma);
    kernel::bind_anew(plan.address, plan.rebind_to);
    auto made =
        wait_for_devices(plan.address, {.link = true, .rdma_devices = 1}, route, &rdma, deadline.at_most(kTimeout));
    if (!made)
        refuse_device(plan.address, concat("has no RDMA device or no IPoIB interface ", kTimeout.count(),
                                           " s after driver ", quoted(plan.rebind_to), " was bound anew for its GUID"));
    require_same_numbers(*made, uverbs, rdma);
    return *std::move(made);
}

/// What the driver made when it was bound anew may have other names and numbers.
void replace_rdma(DevicePlan& plan, const config::RdmaPolicy& policy, RdmaDevices made) {
    if (plan.rdma) {
        plan.rdma->device_index = made.front().index;
        plan.rdma->device = made.front().name;
    }
    if (!plan.moving.empty()) choose_rdma_again(plan, policy, std::move(made));
}

/// A GUID that is asked for and isn't the VF's yet makes the driver be bound anew; one must be there in any case.
void plan_guid(DevicePlan& plan, const cni::Request& request, const config::Config& config, const Session& session,
               kernel::Socket& route, const base::Deadline& deadline) {
    const auto present = plan.link->port_guid();
    if (!plan.vf || !present) return;
    const auto wanted = wanted_settings(request, config).port_guid;
    if (wanted) require_unused_guid(plan.address, *wanted, session, route);
    if (wanted && wanted != present) {
        plan.rebind_to = kernel::driver_of(plan.address);
        auto rdma = kernel::Socket::find_rdma(deadline);
        const auto devices = rdma ? find_rdma_devices(plan.address, *rdma) : RdmaDevices{};
        if (!devices.empty()) plan.node_guid = devices.front().node_guid;
    }
    if (!wanted && present->is_nobodys())
        refuse_device(plan.address,
                      concat("has no valid GUID (", *present, "): set \"guid\", or give it one by `ip link set ",
                             plan.vf->id.pf, " vf ", plan.vf->id.number, " port_guid`"));
}

/// What the configuration says of an interface that there is none of.
void warn_of_no_interface(const DevicePlan& plan, const cni::Request& request, const config::Config& config,
                          const base::Logger& log) {
    const std::string why = concat(" is not set: device ", plan.address, " has driver ",
                                   quoted(kernel::driver_of(plan.address)), " and no interface");
    if (config.mtu) log.warn(concat("mtu: ", *config.mtu, why));
    if (const auto mac = wanted_mac(request, config); mac && !plan.vf) log.warn(concat("mac: ", *mac, why));
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

bool DevicePlan::is_infiniband() const {
    return link && link->is_infiniband();
}

std::string mac_without_link(const DevicePlan& plan) {
    if (!plan.vf) return {};
    const auto& mac = plan.vf->changes.mac ? plan.vf->changes.mac : plan.vf->before.mac;
    return mac && !mac->is_zero() ? mac->to_string() : std::string();
}

DevicePlan plan_device(const cni::Request& request, const config::Config& config, const Session& session, PodSide& pod,
                       const BusAddress& address, const base::Deadline& deadline) {
    require_existing(address);
    if (config.reset) require_resettable(address);
    DevicePlan plan{.address = address,
                    .owed_names = list_owed_names(name_keeper(session)),
                    .claim = claim_device(address.to_string(), session, deadline)};
    if (config.is_rdma_only() && is_rdma_moved_beside(address, session)) { // nothing is left to do
        refuse_late_choice(address, config.rdma);
        return plan;
    }
    kernel::Socket route = kernel::Socket::open(kernel::Protocol::route, deadline);
    if (std::holds_alternative<config::Sriov>(config.attach)) plan.vf = plan_vf(address, request, config, route);
    if (plan.vf) warn_of_inherited_vlan(*plan.vf, request, config, session.node.log);
    if (config.is_rdma_only())
        require_no_ipoib(address, route, pod);
    else
        plan.link = find_device_link(address, route);
    if (plan.link) {
        require_spare(address, *plan.link, route);
        require_free_names(address.to_string(), *plan.link, pod, request);
    } else if (!config.is_rdma_only()) {
        warn_of_no_interface(plan, request, config, session.node.log);
    }
    if (plan.is_infiniband()) {
        if (const auto mac = wanted_mac(request, config))
            throw cni::CniError(cni::ErrorCode::unsupported_field, concat("mac: ", *mac, " can't be set, device ",
                                                                          address, " is InfiniBand: set \"guid\""));
        if (!config.rdma.link_local_gids)
            throw cni::CniError(cni::ErrorCode::unsupported_field,
                                concat("rdma.linkLocalGids: can't be set, device ", address,
                                       " is InfiniBand, whose GIDs come from no addresses: remove it"));
        if (config.duplicate_detection == config::DuplicateDetection::probe)
            throw cni::CniError(cni::ErrorCode::unsupported_field,
                                concat("duplicateAddressDetection: can't be \"probe\", device ", address,
                                       " is InfiniBand, and only Ethernet is asked: remove it"));
        plan_guid(plan, request, config, session, route, deadline);
    }
    if (plan.vf) plan.representor = plan_representor(plan, config, route, session.node.log);
    plan_rdma(plan, config, request, pod.netns, session.node.log, deadline);
    if (config.reset) plan.reset = plan_reset(address, plan.owed_names, session.node.log, deadline);
    const bool is_made_anew = plan.reset || (plan.is_infiniband() && (!plan.moving.empty() || !plan.rebind_to.empty()));
    if (plan.link && is_made_anew) require_no_children(address, *plan.link, session, route);
    require_active_port_before(plan, config, request.ifname().to_string(), session.node.log, deadline);
    return plan;
}

std::vector<state::Step> rdma_steps(const BusAddress& address, const RdmaDevices& moving, const RdmaDevices& staying,
                                    const std::string& name_in_pod) {
    std::vector<std::uint32_t> stayed;
    for (const kernel::RdmaDevice& device : staying) stayed.push_back(device.index);
    std::vector<state::Step> steps;
    for (const kernel::RdmaDevice& device : moving)
        steps.emplace_back(state::MoveRdma{.device = address.to_string(),
                                           .index = device.index,
                                           .node_guid = device.node_guid,
                                           .name = device.name,
                                           .name_in_pod = name_in_pod,
                                           .stayed = stayed});
    return steps;
}

std::vector<state::Step> rdma_steps(const DevicePlan& plan) {
    RdmaDevices moving = plan.moving;
    for (kernel::RdmaDevice& device : moving) device.name = own_name(device, plan.owed_names);
    return rdma_steps(plan.address, moving, plan.staying, plan.name_in_pod);
}

std::vector<state::Step> device_steps(const cni::Request& request, const config::Config& config, const DevicePlan& plan,
                                      const base::Deadline& deadline, const base::Logger& log) {
    const std::string device = plan.address.to_string();
    std::vector<state::Step> steps;
    if (!config.is_rdma_only()) steps.emplace_back(keep_step(plan, deadline, log));
    if (!plan.rebind_to.empty())
        steps.emplace_back(state::RebindDriver{.device = device,
                                               .driver = plan.rebind_to,
                                               .guid = plan.link->port_guid().value().to_string(),
                                               .node_guid = plan.node_guid});
    // Undone once the PF has its settings of the VF back: what the driver makes of it then, MAC and GUIDs, comes from them.
    if (plan.reset) steps.emplace_back(*plan.reset);
    if (plan.vf && !plan.vf->changes.empty())
        steps.emplace_back(to_step(plan.address, plan.vf->of, kernel::restrict_to(plan.vf->before, plan.vf->changes)));
    if (plan.representor) steps.emplace_back(plan.representor->before);
    if (plan.link) steps.emplace_back(state::MoveLink{.device = device, .ifname = request.ifname().to_string()});
    for (state::Step& step : rdma_steps(plan)) steps.push_back(std::move(step));
    return steps;
}

std::optional<Link> move_device(const cni::Request& request, const config::Config& config, DevicePlan& plan,
                                const Session& session, PodSide& pod, const std::function<void()>& on_new_rdma,
                                const base::Deadline& deadline) {
    if (plan.vf && !plan.vf->changes.empty()) {
        kernel::Socket route = kernel::Socket::open(kernel::Protocol::route, deadline);
        apply_settings(*plan.vf, plan.address, route, session.node.log);
    }
    if (plan.representor) set_up_representor(*plan.representor, config, deadline);
    if (!plan.rebind_to.empty()) {
        replace_rdma(plan, config.rdma, rebind(plan, session, deadline));
        on_new_rdma();
    }
    if (plan.is_infiniband()) {
        move_rdma(plan, session.records, pod.netns, deadline);
        return follow_rdma(request, config, plan, pod, deadline);
    }
    std::optional<Link> link;
    if (plan.link) link = move_link(request, config, plan, *plan.link, pod, deadline);
    move_rdma(plan, session.records, pod.netns, deadline);
    return link;
}

} // namespace rdmanet::attach
