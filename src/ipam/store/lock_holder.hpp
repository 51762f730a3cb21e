// Who has locked a file, for messages.
#pragma once

#include <string>

namespace rdmanet::ipam {

/// `, which process 123 (rdmanet) has locked`, or nothing if that can't be told. Reads /proc/locks, because
/// flock(2) does not say who has a lock.
[[nodiscard]] std::string lock_holder_of(const std::string& path);

} // namespace rdmanet::ipam
