#include "nic_settings.hpp"

#include <catch2/catch.hpp>

namespace rdmanet::inventory {
namespace {

using kernel::DevlinkMode;
using kernel::DevlinkSwitch;

constexpr DevlinkSwitch kOn{.is_on = true, .mode = DevlinkMode::runtime};
constexpr DevlinkSwitch kOff{.is_on = false, .mode = DevlinkMode::driverinit};

/// The parameter that is to blame; empty if none is.
std::string blamed(const RdmaSwitches& switches) {
    const auto off = find_switched_off(switches);
    if (!off) return "";
    CHECK(off->mode == DevlinkMode::driverinit);
    return off->parameter;
}

TEST_CASE("a function without RDMA has the parameter to blame that is off") {
    CHECK(blamed({}) == "");
    CHECK(blamed({.roce = kOff}) == "enable_roce");
    CHECK(blamed({.roce = kOn}) == "");
    CHECK(blamed({.iwarp = kOff}) == "enable_iwarp");
    CHECK(blamed({.rdma = kOff, .roce = kOn}) == "enable_rdma");
    CHECK(blamed({.rdma = kOn, .roce = kOff}) == "enable_roce");
    CHECK(blamed({.rdma = kOn}) == "");
    // Of two protocols one is off.
    CHECK(blamed({.roce = kOff, .iwarp = kOn}) == "");
    CHECK(blamed({.roce = kOn, .iwarp = kOff}) == "");
    CHECK(blamed({.roce = kOff, .iwarp = kOff}) == "enable_roce");
}

} // namespace
} // namespace rdmanet::inventory
