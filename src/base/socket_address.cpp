#include <rdmanet/base/socket_address.hpp>

#include <rdmanet/base/error.hpp>

#include <netinet/in.h>

#include <cerrno>
#include <cstring>

namespace rdmanet::base {

SocketAddress::SocketAddress(const IpAddress& address, std::uint16_t port, std::uint32_t scope) {
    const auto bytes = address.bytes();
    if (address.is_v4()) {
        sockaddr_in v4{};
        v4.sin_family = AF_INET;
        v4.sin_port = htons(port);
        std::memcpy(&v4.sin_addr, bytes.data(), sizeof v4.sin_addr);
        std::memcpy(&storage_, &v4, length_ = sizeof v4);
    } else {
        sockaddr_in6 v6{};
        v6.sin6_family = AF_INET6;
        v6.sin6_port = htons(port);
        v6.sin6_scope_id = scope;
        std::memcpy(&v6.sin6_addr, bytes.data(), sizeof v6.sin6_addr);
        std::memcpy(&storage_, &v6, length_ = sizeof v6);
    }
}

SocketAddress SocketAddress::own_of(int socket) {
    SocketAddress found;
    if (::getsockname(socket, reinterpret_cast<sockaddr*>(&found.storage_), &found.length_) != 0)
        throw SystemError("find a socket's own address", errno);
    return found;
}

std::uint16_t SocketAddress::port() const {
    sockaddr_in any{}; // the port is at the same place in both families
    std::memcpy(&any, &storage_, sizeof any);
    return ntohs(any.sin_port);
}

} // namespace rdmanet::base
