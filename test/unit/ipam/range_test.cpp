#include "fixture.hpp"

#include <catch2/catch.hpp>

using namespace rdmanet;
using namespace rdmanet::ipam;
using namespace rdmanet::ipam::test;

namespace {

Interval between(std::string_view first, std::string_view last) {
    return {ip(first).value(), ip(last).value()};
}
Range whole(std::string_view subnet) {
    return {prefix(subnet), bounds_of(prefix(subnet), Edges::handed_out)};
}
constexpr base::Uint128 kAllOnes = ~base::Uint128{0};

} // namespace

TEST_CASE("the first and the last address of a range are not given, in both families") {
    CHECK(bounds_of(prefix("10.0.0.77/24"), Edges::kept_free) == between("10.0.0.1", "10.0.0.254"));
    CHECK(bounds_of(prefix("fd00::/64"), Edges::kept_free) == between("fd00::1", "fd00::ffff:ffff:ffff:fffe"));
    CHECK(bounds_of(prefix("10.0.0.6/31"), Edges::handed_out) == between("10.0.0.6", "10.0.0.7"));
    CHECK(bounds_of(prefix("fd00::1/128"), Edges::handed_out) == between("fd00::1", "fd00::1"));
}

TEST_CASE("removing addresses leaves sorted disjoint intervals") {
    Range range = whole("10.0.0.0/24");
    range.remove({between("10.0.0.20", "10.0.0.29"), between("10.0.0.0", "10.0.0.9"), between("10.0.0.25", "10.0.0.34"),
                  between("10.0.0.35", "10.0.0.39"), between("10.0.0.250", "10.0.1.7"), between("9.0.0.0", "9.0.0.9")});
    CHECK(range.usable() ==
          std::vector<Interval>{between("10.0.0.10", "10.0.0.19"), between("10.0.0.40", "10.0.0.249")});
    CHECK(to_text(range.usable_count()) == "220");
    CHECK(range.contains(ip("10.0.0.10")));
    CHECK(range.contains(ip("10.0.0.249")));
    CHECK_FALSE(range.contains(ip("10.0.0.20")));
    CHECK_FALSE(range.contains(ip("10.0.0.39")));
    CHECK_FALSE(range.contains(ip("10.0.0.9")));
    CHECK_FALSE(range.contains(ip("::a00:a")));
}

TEST_CASE("a hole of 2^28 addresses in an IPv6 range takes one step") {
    Range range = whole("fd00::/64");
    range.remove({between("fd00::", "fd00::fff:ffff")});
    CHECK(range.usable() == std::vector<Interval>{between("fd00::1000:0", "fd00::ffff:ffff:ffff:ffff")});
    CHECK(to_text(range.usable_count()) == "18446744073441116160");
}

TEST_CASE("the first and last addresses of the families can be given") {
    Range everything = whole("::/0");
    CHECK(everything.usable_count() == kAllOnes); // the number of addresses does not fit, so it is one less
    everything.remove({{0, 0}});
    CHECK(everything.usable_count() == kAllOnes);
    everything.remove({{kAllOnes, kAllOnes}});
    CHECK(to_text(everything.usable_count()) == "340282366920938463463374607431768211454");
    everything.remove({{0, kAllOnes}});
    CHECK(everything.usable().empty());
    CHECK(everything.usable_count() == 0);

    Range end = whole("255.255.255.255/32");
    CHECK(end.contains(ip("255.255.255.255")));
    end.remove({between("255.255.255.255", "255.255.255.255")});
    CHECK(end.usable().empty());
}

TEST_CASE("a range is described by its subnet, or by its bounds if they are narrower") {
    CHECK(whole("10.0.0.0/24").to_string() == "10.0.0.0/24");
    CHECK(Range(prefix("10.0.0.9/24"), between("10.0.0.1", "10.0.0.254")).to_string() == "10.0.0.0/24");
    CHECK(Range(prefix("10.0.0.0/24"), between("10.0.0.5", "10.0.0.9")).to_string() ==
          "10.0.0.0/24 (10.0.0.5 to 10.0.0.9)");
}
