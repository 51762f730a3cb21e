// The checks of one end, before anything is sent.
#pragma once

#include <rdmanet/inventory/inventory.hpp>
#include <rdmanet/verify/endpoint.hpp>

#include <cstddef>

namespace rdmanet::verify {

/// `place` is the number of the pod's namespace. `interface` is nullptr if the pod has none with RDMA. Throws
/// base::SystemError.
[[nodiscard]] FoundEndpoint examine(const inventory::Inventory& inventory, std::size_t place,
                                    const inventory::Interface* interface);

} // namespace rdmanet::verify
