#include "check_context.hpp"

#include "lookup/port_state.hpp"

#include <rdmanet/cni/error.hpp>

namespace rdmanet::attach {

bool Intended::is_device() const {
    return kind == "sriov" || kind == "host-device" || kind == "rdma";
}

void differs(const std::string& what) {
    throw cni::CniError(cni::ErrorCode::check_failed, what);
}

void check_port(const config::RdmaPolicy& policy, const kernel::RdmaPort& port, const std::string& interface) {
    if (policy.on_inactive_port == config::OnInactivePort::refuse && !port.is_active())
        differs(inactive_port_text(port, interface));
}

bool has_netdev(const state::AttachmentRecord& record) {
    return record.created_link() != nullptr || record.find_step<state::MoveLink>() != nullptr ||
           record.find_step<state::MoveInterface>() != nullptr;
}

} // namespace rdmanet::attach
