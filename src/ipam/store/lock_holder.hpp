// Who has locked a file, for messages.
#pragma once

#include <string>

namespace rdmanet::ipam {

/// `, which process 123 (rdmanet) has locked`, or nothing if that can't be told. Reads /proc/locks: to open the file
/// and ask F_GETLK would, on closing it, drop the locks that this process has there (fcntl(2)).
[[nodiscard]] std::string lock_holder_of(const std::string& path);

} // namespace rdmanet::ipam
