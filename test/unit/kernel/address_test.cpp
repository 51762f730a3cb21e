#include <rdmanet/kernel/address.hpp>

#include "fixture.hpp"

#include <rdmanet/kernel/route.hpp>
#include <rdmanet/kernel/sysctl.hpp>

#include <catch2/catch.hpp>

#include <algorithm>
#include <cerrno>

namespace rdmanet::kernel {
namespace {

using base::IpPrefix;

IpPrefix prefix(std::string_view text) {
    return IpPrefix::parse(text).value();
}

std::optional<Address> find(const std::vector<Address>& addresses, const IpPrefix& wanted) {
    const auto found = std::find_if(addresses.begin(), addresses.end(),
                                    [&](const Address& address) { return address.prefix == wanted; });
    return found == addresses.end() ? std::nullopt : std::optional(*found);
}

TEST_CASE("addresses of both families are added, listed and removed") {
    NEEDS_NETNS();
    test::Host host;
    for (const char* text : {"10.1.2.3/24", "10.9.9.9/32", "10.8.8.8/31", "2001:db8::5/64", "2001:db8:1::6/128"}) {
        INFO(text);
        CHECK(add_address(host.route, host.parent.ifindex, prefix(text)) == Added::yes);
        CHECK(add_address(host.route, host.parent.ifindex, prefix(text)) == Added::was_present);
        CHECK(find(list_addresses(host.route, host.parent.ifindex), prefix(text)));
        CHECK_FALSE(find(list_addresses(host.route, *host.parent.parent_ifindex), prefix(text)));
        CHECK(remove_address(host.route, host.parent.ifindex, prefix(text)) == Removed::yes);
        CHECK(remove_address(host.route, host.parent.ifindex, prefix(text)) == Removed::was_absent);
        CHECK_FALSE(find(list_addresses(host.route, host.parent.ifindex), prefix(text)));
    }
}

TEST_CASE("an IPv6 address without duplicate detection is usable at once") {
    NEEDS_NETNS();
    test::Host host;
    const IpPrefix waiting = prefix("2001:db8::5/64");
    const IpPrefix ready = prefix("2001:db8::6/64");
    CHECK(add_address(host.route, host.parent.ifindex, waiting) == Added::yes);
    CHECK(add_address(host.route, host.parent.ifindex, ready, {.skip_duplicate_detection = true}) == Added::yes);
    const auto addresses = list_addresses(host.route, host.parent.ifindex);
    CHECK(find(addresses, waiting)->is_tentative());
    CHECK_FALSE(find(addresses, ready)->is_tentative());
    CHECK_FALSE(find(addresses, ready)->is_duplicate());
}

TEST_CASE("an address can come without the route to its prefix") {
    NEEDS_NETNS();
    test::Host host;
    CHECK(add_address(host.route, host.parent.ifindex, prefix("10.1.2.3/24"), {.without_prefix_route = true}) ==
          Added::yes);
    CHECK(add_address(host.route, host.parent.ifindex, prefix("10.1.3.3/24")) == Added::yes);
    const auto routes =
        list_routes(host.route, {.family = base::Family::v4, .ifindex = host.parent.ifindex, .table = kMainTable});
    REQUIRE(routes.size() == 1);
    CHECK(routes.front().destination == prefix("10.1.3.0/24"));
}

TEST_CASE("addresses of an absent interface") {
    NEEDS_NETNS();
    test::Host host;
    CHECK_THROWS_AS(list_addresses(host.route, 4711), NetlinkError);
    CHECK_THROWS_WITH(add_address(host.route, 4711, prefix("10.1.2.3/24")),
                      Catch::Matchers::StartsWith("add address 10.1.2.3/24 to interface number 4711: no such device"));
    CHECK(remove_address(host.route, 4711, prefix("10.1.2.3/24")) == Removed::was_absent);
    CHECK(remove_address(host.route, 4711, prefix("2001:db8::5/64")) == Removed::was_absent);
}

} // namespace
} // namespace rdmanet::kernel
