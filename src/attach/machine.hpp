// Who this machine is, for stores that nodes share.
#pragma once

#include <string>

namespace rdmanet::attach {

/// Throws ipam::StoreError if it has none.
[[nodiscard]] std::string read_machine_id();

/// Throws ipam::StoreError if it has none.
[[nodiscard]] std::string host_name();

} // namespace rdmanet::attach
