// Whose a device is, by the journal.
#pragma once

#include "attachment.hpp"

#include "lookup/rdma_devices.hpp"

#include <rdmanet/base/bus_address.hpp>
#include <rdmanet/kernel/link.hpp>
#include <rdmanet/kernel/netlink_socket.hpp>
#include <rdmanet/state/attachment_record.hpp>

#include <vector>

namespace rdmanet::attach {

// Where `device` is a text, it is the address of one, or the name of an interface without: state::KeepDevice::device.

/// Attachments other than ours that have the device, or parts of it.
[[nodiscard]] std::vector<state::AttachmentRecord> list_owners(const std::string& device, const Attachment& attachment);

/// Those whose pods are provably gone: no DEL came for them.
[[nodiscard]] std::vector<state::AttachmentRecord> list_stale_owners(const std::string& device,
                                                                     const Attachment& attachment);

/// Throws CniError naming the other attachment that has the device, unless that is another entry of the same list.
/// AttachmentStore::lock_device() keeps others from claiming it until our record is written.
void require_unclaimed(const std::string& device, const Attachment& attachment);

/// Throws CniError if the device's interface has children, on the host or in living pods: they go with it when the
/// driver is bound anew, and those of IPoIB also when the RDMA device moves (ipoib_remove_one(),
/// drivers/infiniband/ulp/ipoib/ipoib_main.c). One that is made at the same moment is not seen.
void require_no_children(const base::BusAddress& address, const kernel::Link& link, const Attachment& attachment,
                         kernel::Socket& route);

/// Whether an entry of the same list, the one that moved the interface, has moved the device's RDMA devices with it.
[[nodiscard]] bool is_rdma_moved_beside(const base::BusAddress& address, const Attachment& attachment);

/// Those that the attachment's ADD moved into the pod, or was about to.
[[nodiscard]] RdmaDevices moved_devices(const state::AttachmentRecord& record);

} // namespace rdmanet::attach
