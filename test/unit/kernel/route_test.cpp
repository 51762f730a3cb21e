#include "support/names.hpp"

#include <rdmanet/kernel/route.hpp>

#include "fixture.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cerrno>

namespace rdmanet::kernel {
namespace {

using base::Family;
using base::IpAddress;
using base::IpPrefix;
using rdmanet::test::Names;
using test::Host;

/// A parent with one address of each family. Gateways 10.1.2.x and 2001:db8::x are reachable.
struct Addressed : Host {
    Addressed() {
        add_address(route, parent.ifindex, *IpPrefix::parse("10.1.2.3/24"));
        add_address(route, parent.ifindex, *IpPrefix::parse("2001:db8::3/64"), Dad::none);
    }

    [[nodiscard]] Route to(std::string_view destination, std::string_view gateway = {}) const {
        Route wanted{.destination = IpPrefix::parse(destination).value()};
        if (!gateway.empty()) wanted.gateway = IpAddress::parse(gateway).value();
        wanted.ifindex = parent.ifindex;
        return wanted;
    }

    [[nodiscard]] std::vector<Route> find_all(std::string_view destination) {
        auto routes = list_routes(route, {.ifindex = parent.ifindex});
        std::erase_if(routes,
                      [&](const Route& each) { return each.destination != IpPrefix::parse(destination).value(); });
        return routes;
    }
};

TEST_CASE("a route is read back with every field") {
    Addressed host;
    for (const auto& [destination, gateway] :
         {std::pair{"10.5.0.0/16", "10.1.2.1"}, std::pair{"2001:db8:5::/48", "2001:db8::1"},
          std::pair{"0.0.0.0/0", "10.1.2.1"}, std::pair{"::/0", "2001:db8::1"}}) {
        INFO(destination);
        Route wanted = host.to(destination, gateway);
        wanted.table = 1000;
        wanted.metric = 77;
        wanted.mtu = 1400;
        wanted.advertised_mss = 1300;
        add_route(host.route, wanted);
        add_route(host.route, wanted);
        const auto found = host.find_all(destination);
        REQUIRE(found.size() == 1);
        CHECK(found.front().gateway == wanted.gateway);
        CHECK(found.front().ifindex == host.parent.ifindex);
        CHECK(found.front().table == 1000);
        CHECK(found.front().metric == 77);
        CHECK(found.front().mtu == 1400U);
        CHECK(found.front().advertised_mss == 1300U);
    }
}

TEST_CASE("a route needs no gateway, or one of either family that can be reached") {
    Addressed host;
    add_route(host.route, host.to("10.6.0.0/16"));
    const auto found = host.find_all("10.6.0.0/16");
    REQUIRE(found.size() == 1);
    CHECK(found.front().scope == 253); // RT_SCOPE_LINK
    CHECK_FALSE(found.front().gateway);
    add_route(host.route, host.to("10.7.0.0/16", "2001:db8::1"));
    const auto through_v6 = host.find_all("10.7.0.0/16");
    REQUIRE(through_v6.size() == 1);
    CHECK(through_v6.front().gateway->to_string() == "2001:db8::1");
    CHECK_THROWS_WITH(add_route(host.route, host.to("10.5.0.0/16", "192.0.2.1")),
                      Names("add route", "10.5.0.0/16", "192.0.2.1"));
    CHECK(list_routes(host.route, {.ifindex = 4711}).empty());
    CHECK(list_routes(host.route, {.table = 4711}).empty());
    Route wanted = host.to("10.5.0.0/16");
    wanted.ifindex = 4711;
    CHECK_THROWS_AS(add_route(host.route, wanted), NetlinkError);
}

TEST_CASE("the last IPv4 route to a destination wins, and IPv6 routes with the same metric are separate entries") {
    Addressed host;
    for (const char* gateway : {"10.1.2.1", "10.1.2.2", "10.1.2.2"})
        add_route(host.route, host.to("10.5.0.0/16", gateway));
    const auto found = host.find_all("10.5.0.0/16");
    REQUIRE(found.size() == 2);
    CHECK(found[0].gateway->to_string() == "10.1.2.2");
    CHECK(found[1].gateway->to_string() == "10.1.2.1");
    add_route(host.route, host.to("2001:db8:5::/48", "2001:db8::1"));
    add_route(host.route, host.to("2001:db8:5::/48", "2001:db8::2"));
    CHECK(host.find_all("2001:db8:5::/48").size() == 2);
}

TEST_CASE("the default route is the main table's with the lowest metric") {
    Addressed host;
    for (const auto& [family, destination, gateway] :
         {std::tuple{Family::v4, "0.0.0.0/0", "10.1.2.1"}, std::tuple{Family::v6, "::/0", "2001:db8::1"}}) {
        CHECK_FALSE(find_default_route(host.route, family));
        Route wanted = host.to(destination, gateway);
        for (const std::uint32_t metric : {200U, 100U, 300U}) {
            wanted.metric = metric;
            add_route(host.route, wanted);
        }
        wanted.metric = 1;
        wanted.table = 1000;
        add_route(host.route, wanted);
        const auto found = find_default_route(host.route, family);
        REQUIRE(found);
        CHECK(found->metric == 100);
        CHECK(found->ifindex == host.parent.ifindex);
    }
}

} // namespace
} // namespace rdmanet::kernel
