// No two VFs of the node may have the same GUID.
#pragma once

#include "call.hpp"

#include <rdmanet/base/bus_address.hpp>
#include <rdmanet/base/guid.hpp>
#include <rdmanet/kernel/netlink_socket.hpp>

namespace rdmanet::attach {

/// Throws CniError if another VF of this node has `guid`. The subnet manager would take both VFs for one port
/// (InfiniBand Architecture Specification, volume 1, section 4.1.1: port GUIDs are unique within a subnet). A VF that
/// gets the GUID at the same moment is not seen.
void require_unused_guid(const base::BusAddress& address, const base::Guid& guid, const Call& call,
                         kernel::Socket& route);

} // namespace rdmanet::attach
