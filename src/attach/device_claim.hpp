// Whose a device is.
#pragma once

#include "session.hpp"

#include <rdmanet/base/bus_address.hpp>
#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/file_lock.hpp>

namespace rdmanet::attach {

/// Undoes what the attachment of a pod that is provably gone has left on the device, which no DEL came for. Throws CniError
/// if it can't be undone. No attachment's lock may be held.
void take_from_the_dead(const base::BusAddress& address, Session& session, const base::Deadline& deadline);

/// Throws CniError naming the other attachment that has the device. The lock that comes back keeps others from claiming it
/// until our record is written.
[[nodiscard]] base::FileLock claim_device(const base::BusAddress& address, const Session& session,
                                          const base::Deadline& deadline);

} // namespace rdmanet::attach
