// Finds a device that a pod has, by the name or MAC that it had on the host.
#pragma once

#include "lookup/device_find.hpp"

#include <rdmanet/config/config.hpp>
#include <rdmanet/state/attachment_store.hpp>

#include <optional>

namespace rdmanet::attach {

/// Implements FindAttached (lookup/device_find.hpp). Reads all records.
[[nodiscard]] std::optional<Movable> find_attached(const config::HostDevice& wanted,
                                                   const state::AttachmentStore& records);

} // namespace rdmanet::attach
