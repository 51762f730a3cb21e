#include "port_state.hpp"

#include "device_rdma.hpp"

#include <rdmanet/base/text.hpp>
#include <rdmanet/cni/error.hpp>

#include <algorithm>
#include <chrono>
#include <thread>

namespace rdmanet::attach {
namespace {

using base::concat;
using base::quoted;
using kernel::Link;
using kernel::RdmaPort;
using kernel::Socket;

void complain_of_port(const config::RdmaPolicy& policy, const std::string& what, const base::Logger& log) {
    if (policy.on_inactive_port == config::OnInactivePort::refuse) throw cni::CniError(cni::ErrorCode::rdma, what);
    log.warn(what);
}

std::optional<RdmaPort> find_port_of_ipoib(Socket& rdma, const Link& link) {
    const auto address = base::BusAddress::parse(link.parent_device);
    if (!address) return std::nullopt;
    return find_port_of(rdma, find_rdma_devices(*address, rdma), link);
}

/// The port as it is once it is active, or when time is over; as it was if its device has gone. A driver that brings up
/// a VF gets its link at once or some milliseconds later, an InfiniBand VF's is active when the subnet manager has been
/// there.
RdmaPort wait_for_active(Socket& rdma, RdmaPort port, const config::RdmaPolicy& policy,
                         const base::Deadline& deadline) {
    const auto until = deadline.at_most(policy.gid_timeout);
    for (auto pause = std::chrono::milliseconds{1}; !port.is_active() && !until.passed();
         pause = std::min(pause * 2, std::chrono::milliseconds{50})) {
        std::this_thread::sleep_for(pause);
        for (RdmaPort& now : kernel::list_rdma_ports(rdma, {.index = port.device_index, .name = port.device}))
            if (now.port == port.port) port = std::move(now);
    }
    return port;
}

/// Whether the VF's own port can be expected to become active. An Ethernet PF that is down doesn't tell: some keep
/// their link for the VFs.
bool may_become_active(const VfPlan& vf, const config::Config& config, Socket& rdma, const base::Logger& log,
                       const base::Deadline& deadline) {
    using State = kernel::VfLinkState;
    if (std::get<config::Sriov>(config.attach).settings.link_state == State::disable) return false; // as it is wished
    const State state = vf.changes.link_state.value_or(vf.before.link_state.value_or(State::automatic));
    if (state == State::disable) {
        complain_of_port(config.rdma,
                         concat(vf.id, " has link state disable, its RDMA port can't become active: set \"link_state\"",
                                " to \"auto\", or run `ip link set ", vf.id.pf, " vf ", vf.id.number, " state auto`"),
                         log);
        return false;
    }
    if (state == State::enable) return true;
    Socket route = Socket::open(kernel::Protocol::route, deadline);
    const auto pf = kernel::find_link(route, vf.id.pf_ifindex);
    if (!pf || (!pf->is_up() && !pf->is_infiniband())) return true;
    const auto port = pf->is_infiniband() ? find_port_of_ipoib(rdma, *pf) : kernel::find_rdma_port(rdma, *pf);
    if (port) require_active_port(config.rdma, *port, pf->name, log);
    return !port || port->is_active();
}

} // namespace

std::string inactive_port_text(const RdmaPort& port, const std::string& interface) {
    const bool waits_for_manager = port.lid && port.has_physical_link();
    return concat(port, " is not active: ", port.states_text(), "; ",
                  waits_for_manager
                      ? std::string("no subnet manager has brought it up: start one in the fabric, for example opensm, "
                                    "or look into the log of the one that runs")
                      : concat("check the link of ", quoted(interface), ": cable, switch port, of a VF its PF's link ",
                               "and \"link_state\""));
}

void require_active_port(const config::RdmaPolicy& policy, const RdmaPort& port, const std::string& interface,
                         const base::Logger& log) {
    if (!port.is_active()) complain_of_port(policy, inactive_port_text(port, interface), log);
}

void require_active_port_of_ipoib(const config::RdmaPolicy& policy, const Link& parent, const base::Logger& log,
                                  const base::Deadline& deadline) {
    if (policy.demand == config::RdmaDemand::ignored) return;
    auto rdma = Socket::find_rdma(deadline);
    const auto port = rdma ? find_port_of_ipoib(*rdma, parent) : std::nullopt;
    if (port) require_active_port(policy, *port, parent.name, log);
}

void require_active_port_before(DevicePlan& plan, const config::Config& config, const std::string& ifname,
                                const base::Logger& log, const base::Deadline& deadline) {
    const bool has_rdma = plan.rdma || !plan.moving.empty();
    auto rdma = has_rdma ? Socket::find_rdma(deadline) : std::nullopt;
    if (!rdma) return;
    if (plan.vf) {
        plan.awaits_port = may_become_active(*plan.vf, config, *rdma, log, deadline);
        return;
    }
    const Link link = plan.link.value_or(Link{});
    const RdmaDevices devices = plan.moving.empty() ? find_rdma_devices(plan.address, *rdma) : plan.moving;
    const auto port = find_port_of(*rdma, devices, link);
    if (!port) return;
    if (!plan.link) // an earlier plugin's interface, in the pod
        require_active_port(config.rdma, wait_for_active(*rdma, *port, config.rdma, deadline), ifname, log);
    else if (link.is_up() || plan.is_infiniband())
        require_active_port(config.rdma, *port, link.name, log);
    else
        plan.awaits_port = config.rdma.on_inactive_port == config::OnInactivePort::refuse;
}

void require_active_port_in_pod(const DevicePlan& plan, const RdmaDevices& devices, const config::RdmaPolicy& policy,
                                const kernel::Netns& pod, const Link& link, const base::Logger& log,
                                const base::Deadline& deadline) {
    if (!plan.awaits_port) return;
    auto inside = Socket::find_rdma_in(pod, deadline);
    if (!inside) return;
    const auto port = find_port_of(*inside, devices, link, &pod);
    if (port) require_active_port(policy, wait_for_active(*inside, *port, policy, deadline), link.name, log);
}

} // namespace rdmanet::attach
