#include <rdmanet/kernel/device.hpp>

#include "fixture.hpp"

#include <catch2/catch.hpp>

#include <filesystem>

namespace rdmanet::kernel {
namespace {

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
