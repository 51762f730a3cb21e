#include "support/names.hpp"

#include <rdmanet/kernel/address.hpp>

#include "fixture.hpp"

#include <rdmanet/base/unique_fd.hpp>

#include <catch2/catch.hpp>

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>

namespace rdmanet::kernel {
namespace {

using base::IpPrefix;
using rdmanet::test::Names;

IpPrefix prefix(std::string_view text) {
    return IpPrefix::parse(text).value();
}

std::optional<Address> find(const std::vector<Address>& addresses, const IpPrefix& wanted) {
    const auto found = std::find_if(addresses.begin(), addresses.end(),
                                    [&](const Address& address) { return address.prefix == wanted; });
    return found == addresses.end() ? std::nullopt : std::optional(*found);
}

/// Whether a program can use the address, which is impossible during duplicate address detection.
bool is_usable(const test::Host& host, const IpPrefix& address) {
    const NetnsScope scope(host.netns);
    const base::UniqueFd socket(::socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    const auto bytes = address.address().bytes();
    sockaddr_in6 name{};
    name.sin6_family = AF_INET6;
    std::copy(bytes.begin(), bytes.end(), name.sin6_addr.s6_addr);
    return ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name) == 0;
}

TEST_CASE("addresses of both families are added and listed") {
    test::Host host;
    for (const char* text : {"10.1.2.3/24", "10.9.9.9/32", "10.8.8.8/31", "2001:db8::5/64", "2001:db8:1::6/128"}) {
        INFO(text);
        add_address(host.route, host.parent.ifindex, prefix(text));
        add_address(host.route, host.parent.ifindex, prefix(text));
        CHECK(find(list_addresses(host.route, host.parent.ifindex), prefix(text)));
        CHECK_FALSE(find(list_addresses(host.route, *host.parent.parent_ifindex), prefix(text)));
    }
}

TEST_CASE("an IPv6 address without duplicate address detection is usable at once") {
    test::Host host;
    const IpPrefix waiting = prefix("2001:db8::5/64");
    const IpPrefix ready = prefix("2001:db8::6/64");
    add_address(host.route, host.parent.ifindex, waiting);
    add_address(host.route, host.parent.ifindex, ready, Dad::none);
    CHECK_FALSE(is_usable(host, waiting));
    CHECK(is_usable(host, ready));
}

TEST_CASE("an absent interface has no addresses") {
    test::Host host;
    CHECK_THROWS_AS(list_addresses(host.route, 4711), NetlinkError);
    CHECK_THROWS_WITH(add_address(host.route, 4711, prefix("10.1.2.3/24")),
                      Names("add address", "10.1.2.3/24", "4711", "no such device"));
}

} // namespace
} // namespace rdmanet::kernel
