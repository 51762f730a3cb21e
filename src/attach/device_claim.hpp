// Whose a device is.
#pragma once

#include "session.hpp"

#include <rdmanet/base/bus_address.hpp>
#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/file_lock.hpp>
#include <rdmanet/kernel/link.hpp>
#include <rdmanet/kernel/netlink_socket.hpp>
#include <rdmanet/state/attachment_record.hpp>

#include <vector>

namespace rdmanet::attach {

// Where `device` is a text, it is the address of one, or the name of an interface without: state::KeepDevice::device.

/// Undoes what attachments of pods that are provably gone have left on the device, which no DEL came for. Throws
/// CniError if it can't be undone. No attachment's lock may be held.
void take_from_the_dead(const std::string& device, Session& session, const base::Deadline& deadline);

/// What the former would undo: nothing is, but from now on the session takes them for gone.
[[nodiscard]] std::vector<state::AttachmentRecord> disregard_the_dead(const std::string& device, Session& session);

/// Throws CniError naming the other attachment that has the device, unless that is another entry of the same list. The
/// lock that comes back keeps others from claiming it until our record is written.
[[nodiscard]] base::FileLock claim_device(const std::string& device, const Session& session,
                                          const base::Deadline& deadline);

/// Throws CniError if the device's interface has children, on the host or in living pods: they go with it when the
/// driver is bound anew, and those of IPoIB also when the RDMA device moves (ipoib_remove_one(),
/// drivers/infiniband/ulp/ipoib/ipoib_main.c). One that is made at the same moment is not seen.
void require_no_children(const base::BusAddress& address, const kernel::Link& link, const Session& session,
                         kernel::Socket& route);

/// Whether an entry of the same list, the one that moved the interface, has moved the device's RDMA devices with it.
[[nodiscard]] bool is_rdma_moved_beside(const base::BusAddress& address, const Session& session);

} // namespace rdmanet::attach
