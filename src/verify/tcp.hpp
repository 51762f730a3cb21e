// TCP between the ends, with a deadline for every wait.
#pragma once

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/ip_address.hpp>
#include <rdmanet/base/socket_address.hpp>
#include <rdmanet/base/unique_fd.hpp>

namespace rdmanet::verify {

/// A socket that never blocks. Throws base::SystemError.
[[nodiscard]] base::UniqueFd open_tcp(const base::SocketAddress& address);

/// 0, or the error number of the connection. Throws base::SystemError.
[[nodiscard]] int connect_tcp(int fd, const base::SocketAddress& address, const base::Deadline& deadline);

} // namespace rdmanet::verify
