// GUIDs of InfiniBand ports: each only once.
#pragma once

#include "attachment.hpp"

#include <rdmanet/base/bus_address.hpp>
#include <rdmanet/base/guid.hpp>
#include <rdmanet/kernel/netlink_socket.hpp>

namespace rdmanet::attach {

/// Throws CniError if a PF of this node has given `guid` to another VF: the subnet manager takes both for one port
/// (InfiniBand Architecture Specification, volume 1, section 4.1.1: port GUIDs are unique within a subnet). A VF that
/// gets it at the same moment is not seen.
void require_unused_guid(const base::BusAddress& address, const base::Guid& guid, const Attachment& attachment,
                         kernel::Socket& route);

} // namespace rdmanet::attach
