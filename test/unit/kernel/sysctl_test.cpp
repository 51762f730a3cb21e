#include <rdmanet/kernel/sysctl.hpp>

#include "fixture.hpp"

#include <catch2/catch.hpp>

namespace rdmanet::kernel {
namespace {

using test::ifname;

TEST_CASE("every sysctl exists, and belongs to the thread's network namespace") {
    const test::Host host;
    CHECK_FALSE(find_sysctl(ifname("parent0"), Sysctl::ndisc_notify));
    CHECK(write_sysctl(ifname("parent0"), Sysctl::ndisc_notify, 1) == Written::no_such_sysctl);
    const NetnsScope scope(host.netns);
    NEEDS(find_sysctl(ifname("lo"), Sysctl::disable_ipv6).has_value(), "IPv6");
    CHECK(find_sysctl(ifname("parent0"), Sysctl::ndisc_notify) == 0);
    CHECK(write_sysctl(ifname("parent0"), Sysctl::ndisc_notify, 1) == Written::yes);
    CHECK(find_sysctl(ifname("parent0"), Sysctl::ndisc_notify) == 1);
    for (const Sysctl sysctl : {Sysctl::disable_ipv6, Sysctl::keep_addr_on_down, Sysctl::optimistic_dad,
                                Sysctl::use_optimistic, Sysctl::ndisc_notify}) {
        INFO(static_cast<int>(sysctl));
        CHECK(find_sysctl(ifname("parent0"), sysctl));
    }
}

TEST_CASE("an interface name with a dot is one directory") {
    test::Host host;
    change_link(host.route, host.parent.ifindex, {.state = AdminState::down});
    change_link(host.route, host.parent.ifindex, {.name = ifname("eth0.5")});
    const NetnsScope scope(host.netns);
    NEEDS(find_sysctl(ifname("lo"), Sysctl::disable_ipv6).has_value(), "IPv6");
    CHECK(find_sysctl(ifname("eth0.5"), Sysctl::ndisc_notify) == 0);
}

TEST_CASE("IPv6 is switched on if it was off") {
    const test::Host host;
    {
        const NetnsScope scope(host.netns);
        NEEDS(find_sysctl(ifname("lo"), Sysctl::disable_ipv6).has_value(), "IPv6");
        for (const char* name : {"lo", "parent0"}) write_sysctl(ifname(name), Sysctl::disable_ipv6, 1);
    }
    enable_ipv6(host.netns, ifname("parent0"));
    const NetnsScope scope(host.netns);
    CHECK(find_sysctl(ifname("lo"), Sysctl::disable_ipv6) == 0);
    CHECK(find_sysctl(ifname("parent0"), Sysctl::disable_ipv6) == 0);
    CHECK(find_sysctl(ifname("parent0"), Sysctl::keep_addr_on_down) == 1);
}

} // namespace
} // namespace rdmanet::kernel
