// Sockets in the file system (unix(7)).
#pragma once

#include <string>

namespace rdmanet::doctor {

/// Whether a process listens there. Connects, and sends nothing. Throws base::SystemError if this user must not.
[[nodiscard]] bool is_listened_at(const std::string& path);

} // namespace rdmanet::doctor
