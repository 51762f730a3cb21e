#include <rdmanet/base/error.hpp>
#include <rdmanet/base/socket_address.hpp>
#include <rdmanet/base/unique_fd.hpp>

#include <netinet/in.h>

#include <catch2/catch.hpp>

namespace rdmanet::base {

TEST_CASE("sockets of both families take an address and a port") {
    const SocketAddress v4(*IpAddress::parse("127.0.0.1"), 0x1234);
    CHECK(v4.family() == AF_INET);
    CHECK(v4.port() == 0x1234);
    CHECK(v4.length() == 16);
    CHECK(SocketAddress(*IpAddress::parse("2001:db8::1"), 1).family() == AF_INET6);
    CHECK(SocketAddress(*IpAddress::parse("2001:db8::1"), 1).length() == 28);
    const SocketAddress link_local(*IpAddress::parse("fe80::1"), 53, 7);
    CHECK(reinterpret_cast<const sockaddr_in6*>(link_local.get())->sin6_scope_id == 7);

    const UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const SocketAddress any(*IpAddress::parse("127.0.0.1"), 0);
    REQUIRE(::bind(socket.get(), any.get(), any.length()) == 0);
    CHECK(SocketAddress::own_of(socket.get()).port() != 0);
    CHECK(SocketAddress::own_of(socket.get()).family() == AF_INET);
    CHECK_THROWS_AS(SocketAddress::own_of(-1), SystemError);
}

} // namespace rdmanet::base
