// An IP address and a port as the calls of sockets take them (ip(7), ipv6(7)).
#pragma once

#include <rdmanet/base/ip_address.hpp>

#include <sys/socket.h>

#include <cstdint>

namespace rdmanet::base {

class SocketAddress {
public:
    /// `scope`: the interface (ifindex) on which a link-local address is meant.
    SocketAddress(const IpAddress& address, std::uint16_t port, std::uint32_t scope = 0);
    /// The address that an internet socket is bound to (getsockname(2)). Throws SystemError.
    [[nodiscard]] static SocketAddress own_of(int socket);

    [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage_); }
    [[nodiscard]] socklen_t length() const { return length_; }
    [[nodiscard]] int family() const { return storage_.ss_family; } // AF_INET, AF_INET6
    [[nodiscard]] std::uint16_t port() const;

private:
    SocketAddress() = default;

    sockaddr_storage storage_{};
    socklen_t length_ = sizeof(sockaddr_storage);
};

} // namespace rdmanet::base
