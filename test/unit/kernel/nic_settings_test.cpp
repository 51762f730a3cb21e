// What NICs are asked about, with interfaces and addresses that have no driver of a NIC. The rest needs one: see
// test/e2e/doctor_nic_test.cpp.
#include "fixture.hpp"
#include "generic_family.hpp"

#include <rdmanet/kernel/device.hpp>
#include <rdmanet/kernel/devlink.hpp>
#include <rdmanet/kernel/ethtool.hpp>
#include <rdmanet/kernel/flow_control.hpp>
#include <rdmanet/kernel/statistics.hpp>

#include <catch2/catch.hpp>

#include <algorithm>
#include <cerrno>
#include <filesystem>

namespace rdmanet::kernel {
namespace {

using Catch::Matchers::Contains;
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
    Host host;
    const NetnsScope scope(host.netns);
    Socket generic = Socket::open(Protocol::generic, soon());
    CHECK(!find_flow_control(host.route, generic, host.parent.name, host.parent.ifindex));
    CHECK(!find_flow_control(host.route, generic, "gone0", 4711));
}

// Those of NICs are in test/e2e/doctor_ports_test.cpp.
TEST_CASE("statistics have the driver's names, and an interface without any has an empty list") {
    Host host;
    const StatisticsReader reader = StatisticsReader::open_in(host.netns);
    const auto all = reader.list(base::InterfaceName::parse(host.parent.name).value());
    CHECK(std::any_of(all.begin(), all.end(), [](const Statistic& each) { return each.name == "peer_ifindex"; }));
    CHECK(std::none_of(all.begin(), all.end(), [](const Statistic& each) { return each.name.empty(); }));
    CHECK(reader.list(base::InterfaceName::parse("lo").value()).empty());
}

/// The number of a feature by its name. -1 if the device has no changeable feature of that name.
int number_of(Ethtool& ethtool, unsigned ifindex, const std::string& name) {
    const auto features = ethtool.find_features(ifindex);
    for (std::size_t bit = 0; bit < features->changeable.size() * 32; ++bit) {
        FeatureSet one(bit / 32 + 1);
        one.back() = 1U << bit % 32;
        if (!difference(one, {}, features->changeable).empty() && ethtool.names_of(ifindex, one) == name)
            return static_cast<int>(bit);
    }
    return -1;
}

TEST_CASE("a difference has the features that only one of two sets has") {
    CHECK(difference({}, {}, {}).empty());
    CHECK(difference({1, 2}, {1, 2}, {3, 3}).empty());
    CHECK(difference({5, 2, 9}, {1}, {7, 7}) == FeatureSet{4, 2}); // the third word is not compared
    CHECK(difference({1}, {1, 8}, {7, 15, 7}) == FeatureSet{0, 8});
    CHECK(difference({6}, {}, {4}) == FeatureSet{4});
}

TEST_CASE("features are read, changed and named") {
    const Host host;
    const NetnsScope scope(host.netns);
    auto ethtool = Ethtool::find(soon());
    NEEDS(ethtool.has_value(), "features by netlink (Linux 5.7)");
    const unsigned ifindex = host.parent.ifindex;
    const auto before = ethtool->find_features(ifindex);
    REQUIRE(before);
    CHECK_FALSE(difference(before->wanted, {}, before->changeable).empty());
    const int number = number_of(*ethtool, ifindex, "tx-scatter-gather");
    REQUIRE(number >= 0);
    CHECK(number_of(*ethtool, ifindex, "netns-local") == -1); // fixed, if the kernel has it
    FeatureSet which(static_cast<std::size_t>(number) / 32 + 1);
    which.back() = 1U << number % 32;
    ethtool->want_features(ifindex, {}, which);
    const auto changed = ethtool->find_features(ifindex);
    const FeatureSet all(3, UINT32_MAX);
    CHECK(difference(changed->wanted, before->wanted, all) == which);
    // TCP segmentation is still wanted, but off, because it needs scatter-gather.
    CHECK_THAT(ethtool->names_of(ifindex, difference(changed->active, before->active, all)),
               Contains("tx-scatter-gather, ") && Contains(", tx-tcp-segmentation"));
    ethtool->want_features(ifindex, before->wanted, which);
    CHECK(ethtool->find_features(ifindex)->active == before->active);
}

TEST_CASE("features of an absent interface are an error") {
    auto ethtool = Ethtool::find(soon());
    NEEDS(ethtool.has_value(), "features by netlink (Linux 5.7)");
    constexpr unsigned kNobodys = 1U << 30;
    try {
        (void)ethtool->find_features(kNobodys);
        FAIL("there is one");
    } catch (const NetlinkError& error) {
        CHECK(error.errno_value() == ENODEV);
    }
    CHECK_THROWS_AS(ethtool->want_features(kNobodys, {1}, {1}), NetlinkError);
}

TEST_CASE("an absent function has nothing") {
    NEEDS(std::filesystem::exists("/sys/bus/pci/devices"), "a PCI bus");
    const auto nobody = *base::PciAddress::parse("fffffff0:00:1f.7");
    CHECK_FALSE(device_exists(nobody));
    CHECK_FALSE(find_pf_of(nobody));
    CHECK(driver_of(nobody).empty());
    CHECK(netdevs_of(nobody).empty());
    CHECK(rdma_devices_of(nobody).empty());
    CHECK_FALSE(uplink_of(nobody));
}

TEST_CASE("a module with drivers is recognised as a driver's") {
    std::string driver;
    for (const auto& module : std::filesystem::directory_iterator("/sys/module"))
        if (std::filesystem::exists(module.path() / "drivers")) driver = module.path().filename();
    NEEDS(!driver.empty(), "a module of a driver");
    CHECK(is_driver_module(driver));
    CHECK_FALSE(is_driver_module("printk"));
    CHECK_FALSE(is_driver_module("no_such_module"));
}

} // namespace
} // namespace rdmanet::kernel
