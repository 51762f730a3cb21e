// What NICs are asked about, with interfaces and addresses that have no driver of a NIC. The rest needs one: see
// test/e2e/doctor_nic_test.cpp.
#include <rdmanet/kernel/devlink.hpp>
#include <rdmanet/kernel/flow_control.hpp>
#include <rdmanet/kernel/statistics.hpp>

#include "fixture.hpp"
#include "generic_family.hpp"

#include <catch2/catch.hpp>

#include <algorithm>

namespace rdmanet::kernel {
namespace {

using test::Host;
using test::soon;

TEST_CASE("families of generic netlink are found by their names") {
    Socket generic = Socket::open(Protocol::generic, soon());
    CHECK(find_loaded_family(generic, "nlctrl") == 16); // GENL_ID_CTRL, linux/genetlink.h
    CHECK(!find_loaded_family(generic, "no_such_family"));
    CHECK(!find_loaded_family(generic, ""));
}

TEST_CASE("a device without devlink has neither parameters nor an e-switch") {
    auto devlink = Devlink::find(Socket::open(Protocol::generic, soon()));
    NEEDS(devlink, "a kernel with devlink");
    const auto nobody = base::BusAddress::parse("ffff:ff:1f.7").value();
    CHECK(!devlink->find_switch(nobody, "enable_roce"));
    CHECK(!devlink->find_switch(nobody, ""));
    CHECK(!devlink->is_switchdev(nobody));
}

TEST_CASE("an interface without a port has no flow control") {
    NEEDS_NETNS();
    Host host;
    const NetnsScope scope(host.netns);
    Socket generic = Socket::open(Protocol::generic, soon());
    CHECK(!find_flow_control(host.route, generic, host.parent.name, host.parent.ifindex));
    CHECK(!find_flow_control(host.route, generic, "gone0", 4711));
}

// Those of NICs are in test/e2e/doctor_ports_test.cpp.
TEST_CASE("statistics have the driver's names, and an interface without any has an empty list") {
    NEEDS_NETNS();
    Host host;
    const StatisticsReader reader = StatisticsReader::open_in(host.netns);
    const auto all = reader.list(base::InterfaceName::parse(host.parent.name).value());
    CHECK(std::any_of(all.begin(), all.end(), [](const Statistic& each) { return each.name == "peer_ifindex"; }));
    CHECK(std::none_of(all.begin(), all.end(), [](const Statistic& each) { return each.name.empty(); }));
    CHECK(reader.list(base::InterfaceName::parse("lo").value()).empty());
}

} // namespace
} // namespace rdmanet::kernel
