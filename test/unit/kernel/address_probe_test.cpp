#include <rdmanet/kernel/address.hpp>
#include <rdmanet/kernel/address_probe.hpp>

#include "fixture.hpp"

#include <catch2/catch.hpp>

#include <array>
#include <vector>

namespace rdmanet::kernel {
namespace {

using base::IpAddress;
using base::IpPrefix;

struct Ends {
    test::Host host;
    Link peer = find_link(host.route, host.parent.parent_ifindex.value()).value();

    [[nodiscard]] AddressProber prober() const { return {host.netns, host.parent.ifindex, host.parent.mac().value()}; }
};

TEST_CASE("a probe finds the MAC of another host with the address, for both families") {
    Ends ends;
    for (const char* text : {"192.0.2.7/24", "2001:db8::5/64"}) {
        INFO(text);
        const IpPrefix taken = *IpPrefix::parse(text);
        add_address(ends.host.route, ends.peer.ifindex, taken, Dad::none);
        // Both ends of the pair are in one namespace here, and it answers on either end.
        const std::array addresses = {*IpAddress::parse("192.0.2.99"), taken.address()};
        const auto holder = ends.prober().find_holder(addresses, test::soon());
        REQUIRE(holder);
        CHECK(holder->address == taken.address());
        CHECK(holder->mac == ends.peer.mac().value());
    }
}

TEST_CASE("an address without a host is found free, but only after all probes or the deadline") {
    const Ends ends;
    const std::array addresses = {*IpAddress::parse("192.0.2.7"), *IpAddress::parse("2001:db8::5")};
    const auto begin = std::chrono::steady_clock::now();
    CHECK_FALSE(ends.prober().find_holder(addresses, test::soon()));
    CHECK(std::chrono::steady_clock::now() - begin >= AddressProber::kProbes * AddressProber::kInterval);
    const auto deadline = base::Deadline::in(std::chrono::milliseconds{0});
    CHECK_FALSE(ends.prober().find_holder(addresses, deadline));
    CHECK(deadline.passed());
}

TEST_CASE("an interface that is down can neither ask nor announce") {
    Ends ends;
    const AddressProber prober = ends.prober();
    change_link(ends.host.route, ends.host.parent.ifindex, {.state = AdminState::down});
    const std::array addresses = {*IpAddress::parse("2001:db8::5")};
    CHECK_THROWS_AS(prober.announce(addresses), base::SystemError);
    CHECK_THROWS_AS(prober.find_holder(addresses, test::soon()), base::SystemError);
    CHECK_NOTHROW(prober.announce({}));
}

} // namespace
} // namespace rdmanet::kernel
