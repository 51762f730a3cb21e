// Statistics of a driver that is on any Linux: veth. Those of NICs are in test/e2e/doctor_ports_test.cpp.
#include <rdmanet/kernel/statistics.hpp>

#include "fixture.hpp"

#include <catch2/catch.hpp>

#include <algorithm>

namespace rdmanet::kernel {
namespace {

using test::Host;

} // namespace

TEST_CASE("statistics have the driver's names, and an interface without any has an empty list") {
    NEEDS_NETNS();
    Host host;
    const StatisticsReader reader = StatisticsReader::open_in(host.netns);
    const auto all = reader.list(base::InterfaceName::parse(host.parent.name).value());
    CHECK(std::any_of(all.begin(), all.end(), [](const Statistic& each) { return each.name == "peer_ifindex"; }));
    CHECK(std::none_of(all.begin(), all.end(), [](const Statistic& each) { return each.name.empty(); }));
    CHECK(reader.list(base::InterfaceName::parse("lo").value()).empty());
}

} // namespace rdmanet::kernel
