#include "device_port.hpp"

#include "lookup/port_state.hpp"

#include <rdmanet/base/format.hpp>

#include <optional>

namespace rdmanet::attach {
namespace {

using kernel::Link;
using kernel::RdmaPort;
using kernel::Socket;

/// Whether the VF's own port can become active. An Ethernet PF that is down does not tell: some PFs keep their link
/// for the VFs.
bool may_become_active(const FoundDevice& device, const config::Config& config, Socket& rdma, const base::Logger& log) {
    const FoundVf& vf = *device.vf;
    using State = kernel::VfLinkState;
    if (std::get<config::Sriov>(config.attach).settings.link_state == State::disable) return false; // as configured
    const State state = vf.changes.link_state.value_or(vf.before.link_state.value_or(State::automatic));
    if (state == State::disable) {
        refuse_or_warn_of_port(config.rdma,
                               fmt::format("{} has link state disable, so its RDMA port cannot become active: set "
                                           "\"link_state\" to \"auto\", or run `ip link set {} vf {} state auto`",
                                           vf.id, vf.id.pf, vf.id.number),
                               log);
        return false;
    }
    if (state == State::enable) return true;
    if (!vf.pf.is_up() && !vf.pf.is_infiniband()) return true;
    const auto port = vf.pf.is_infiniband() ? find_port_of_ipoib(rdma, vf.pf)
                                            : kernel::find_rdma_port(rdma, vf.pf, device.rdma_on_host);
    if (port) require_active_port(config.rdma, *port, vf.pf.name, log);
    return !port || port->is_active();
}

} // namespace

void require_active_port_before(FoundDevice& device, const config::Config& config, const std::string& ifname,
                                const base::Logger& log, const base::Deadline& deadline) {
    const bool has_rdma = device.rdma || !device.selection.moving.empty();
    auto rdma = has_rdma ? Socket::find_rdma(deadline) : std::nullopt;
    if (!rdma) return;
    if (device.vf) {
        device.awaits_port = may_become_active(device, config, *rdma, log);
        return;
    }
    const Link link = device.link.value_or(Link{});
    const RdmaDevices devices =
        device.selection.moving.empty() ? find_rdma_devices(device.address, *rdma) : device.selection.moving;
    const auto port = find_port_of(*rdma, devices, link);
    if (!port) return;
    if (!device.link) // an earlier plugin's interface, in the pod
        require_active_port(config.rdma, wait_for_active(*rdma, *port, config.rdma, deadline), ifname, log);
    else if (link.is_up() || device.is_infiniband())
        require_active_port(config.rdma, *port, link.name, log);
    else
        device.awaits_port = config.rdma.on_inactive_port == config::OnInactivePort::refuse;
}

std::optional<RdmaPort> require_active_port_in_pod(const RdmaDevices& devices, const config::RdmaPolicy& policy,
                                                   PodSide& pod, const Link& link, const base::Logger& log,
                                                   const base::Deadline& deadline) {
    Socket* const inside = pod.find_rdma(deadline);
    auto port = inside != nullptr ? find_port_of(*inside, devices, link, &pod.netns) : std::nullopt;
    if (port) require_active_port(policy, wait_for_active(*inside, *port, policy, deadline), link.name, log);
    return port;
}

} // namespace rdmanet::attach
