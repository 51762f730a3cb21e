#include "comparison.hpp"

#include "kinds.hpp"

#include "lookup/port_state.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/cni/error.hpp>

namespace rdmanet::attach {

bool Intended::is_device() const {
    return kind == "sriov" || kind == "host-device" || kind == "rdma";
}

void differs(const std::string& what, std::string_view fix) {
    throw cni::CniError(cni::ErrorCode::check_failed, fmt::format("{}: {}", what, fix));
}

void check_port(const config::RdmaPolicy& policy, const kernel::RdmaPort& port, const std::string& interface) {
    if (policy.on_inactive_port == config::OnInactivePort::refuse && !port.is_active())
        throw cni::CniError(cni::ErrorCode::check_failed, inactive_port_text(port, interface));
}

bool has_netdev(const state::AttachmentRecord& record) {
    return record.has_step<state::CreateLink, state::MoveLink, state::MoveInterface>();
}

std::vector<base::IpAddress> Expected::addresses() const {
    std::vector<base::IpAddress> addresses;
    for (const base::IpPrefix& ip : ips) addresses.push_back(ip.address());
    return addresses;
}

const kernel::Link& require_link(const Comparison& compared) {
    if (!compared.link)
        differs(
            fmt::format("interface {} is gone from {}", base::quoted(compared.record.key.ifname), compared.netns_path),
            kDeletePod);
    return *compared.link;
}

kernel::RdmaPort recorded_port(const state::AttachmentRecord& record) {
    const auto port = kernel::parse_rdma_link_name(record.rdma_device);
    return port.value_or(kernel::RdmaPort{.device = record.rdma_device, .port = 1});
}

} // namespace rdmanet::attach
