#include "port_state.hpp"

#include "rdma_devices.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/base/wait.hpp>
#include <rdmanet/cni/error.hpp>

namespace rdmanet::attach {
namespace {

using base::quoted;
using kernel::Link;
using kernel::RdmaPort;
using kernel::Socket;

} // namespace

void refuse_or_warn_of_port(const config::RdmaPolicy& policy, const std::string& what, const base::Logger& log) {
    if (policy.on_inactive_port == config::OnInactivePort::refuse) throw cni::CniError(cni::ErrorCode::rdma, what);
    log.warn(what);
}

std::optional<RdmaPort> find_port_of_ipoib(Socket& rdma, const Link& link) {
    const auto address = base::BusAddress::parse(link.parent_device);
    if (!address) return std::nullopt;
    return find_port_of(rdma, find_rdma_devices(*address, rdma), link);
}

RdmaPort wait_for_active(Socket& rdma, RdmaPort port, const config::RdmaPolicy& policy,
                         const base::Deadline& deadline) {
    if (port.is_active()) return port;
    base::wait_for(deadline.at_most(policy.gid_timeout), [&] {
        for (RdmaPort& now : kernel::list_rdma_ports(rdma, {.index = port.device_index, .name = port.device}))
            if (now.port == port.port) port = std::move(now);
        return port.is_active();
    });
    return port;
}

std::string inactive_port_text(const RdmaPort& port, const std::string& interface) {
    const bool waits_for_manager = port.lid && port.has_physical_link();
    if (waits_for_manager)
        return fmt::format("{} is not active: {}; no subnet manager has configured it: start one in the fabric, for "
                           "example opensm, or look into the log of the one that runs",
                           port, port.states_text());
    return fmt::format(
        "{} is not active: {}; check the link of {} (cable, switch port; for a VF also its PF's link and "
        "\"link_state\"); `rdmanet doctor` says more (port-state)",
        port, port.states_text(), quoted(interface));
}

void require_active_port(const config::RdmaPolicy& policy, const RdmaPort& port, const std::string& interface,
                         const base::Logger& log) {
    if (!port.is_active()) refuse_or_warn_of_port(policy, inactive_port_text(port, interface), log);
}

void require_active_port_of_ipoib(const config::RdmaPolicy& policy, const Link& parent, const base::Logger& log,
                                  const base::Deadline& deadline) {
    if (policy.demand == config::RdmaDemand::ignored) return;
    auto rdma = Socket::find_rdma(deadline);
    const auto port = rdma ? find_port_of_ipoib(*rdma, parent) : std::nullopt;
    if (port) require_active_port(policy, *port, parent.name, log);
}

} // namespace rdmanet::attach
