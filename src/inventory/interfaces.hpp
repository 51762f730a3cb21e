// Interfaces with the RDMA port that carries their packets, and their GIDs.
#pragma once

#include "side.hpp"

#include <rdmanet/inventory/inventory.hpp>

#include <vector>

namespace rdmanet::inventory {

/// `sides` are the namespaces, in order. Their ports get the number of their GIDs, where it was read. Throws
/// base::SystemError.
[[nodiscard]] std::vector<Interface> list_interfaces(std::vector<Side>& sides, const std::vector<Namespace>& namespaces,
                                                     const std::vector<state::AttachmentRecord>& records);

} // namespace rdmanet::inventory
