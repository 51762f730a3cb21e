// Which attachment owns a device, according to the journal.
#pragma once

#include "lookup/call.hpp"

#include "lookup/rdma_devices.hpp"

#include <rdmanet/base/bus_address.hpp>
#include <rdmanet/kernel/link.hpp>
#include <rdmanet/kernel/netlink_socket.hpp>
#include <rdmanet/state/attachment_record.hpp>

#include <vector>

namespace rdmanet::attach {

// A `device` of type std::string is a bus address, or the name of an interface that has none (state::held_device()).

/// The other attachments that have the device, or a part of it.
[[nodiscard]] std::vector<state::AttachmentRecord> list_owners(const std::string& device, const Call& call);

/// The owners whose pods are proven dead. No DEL came for them.
[[nodiscard]] std::vector<state::AttachmentRecord> list_stale_owners(const std::string& device, const Call& call);

/// Throws CniError if another attachment has the device. Another plugin of the same list may have a part of it.
/// The caller holds AttachmentStore::lock_device(), so that nobody claims the device before our record is written.
void require_unclaimed(const std::string& device, const Call& call);

/// Throws CniError if the device's interface has children on the host or in living pods. The kernel destroys them
/// when the driver is bound again. It also destroys IPoIB children when the RDMA device moves (ipoib_remove_one(),
/// drivers/infiniband/ulp/ipoib/ipoib_main.c). A child that is created at the same moment is not seen.
void require_no_children(const base::BusAddress& address, const kernel::Link& link, const Call& call,
                         kernel::Socket& route);

/// Whether an earlier plugin of the same list moved the interface and its RDMA devices into the pod.
[[nodiscard]] bool is_rdma_moved_by_same_list(const base::BusAddress& address, const Call& call);

/// The RDMA devices that the attachment's ADD moved into the pod, or was about to move.
[[nodiscard]] RdmaDevices moved_devices(const state::AttachmentRecord& record);

} // namespace rdmanet::attach
