#include "blocks/objects.hpp"

#include <rdmanet/cluster/pools_store.hpp>

#include <catch2/catch.hpp>

#include <string>

using namespace rdmanet;
using namespace rdmanet::cluster;

TEST_CASE("objects are called as whereabouts calls them") {
    const auto pool = [](const std::string& space, const char* subnet) {
        return pool_name({.space = space, .subnet = base::IpPrefix::parse(subnet).value()});
    };
    CHECK(pool("", "10.0.0.0/8") == "10.0.0.0-8");
    CHECK(pool("", "10.1.2.3/8") == "10.0.0.0-8");
    CHECK(pool("", "2001:db8::/64") == "2001-db8---64");
    CHECK(pool("net", "10.0.0.0/8") == "net-10.0.0.0-8");
    CHECK(pool("net@10.0.0.0/8", "10.0.0.0/8") == "net-10.0.0.0-8");
    CHECK(pool("@10.0.0.0/8", "10.0.0.0/8") == "10.0.0.0-8");
    for (const char* space : {"", "net", "net-1", "net@10.0.0.0/8"})
        for (const char* subnet : {"10.0.0.0/8", "2001:db8::/64", "fd00:1:2:3:4:5:6:0/112"})
            CHECK(subnet_of_pool(space, pool(space, subnet)) == base::IpPrefix::parse(subnet));
    CHECK(!subnet_of_pool("", pool("net", "10.0.0.0/8")));
    CHECK(!subnet_of_pool("net", pool("", "10.0.0.0/8")));
    CHECK(!subnet_of_pool("", "x"));
    const auto reservation = [](const std::string& space, const char* address) {
        return reservation_name(space, base::IpAddress::parse(address).value());
    };
    CHECK(reservation("", "10.0.0.5") == "10.0.0.5");
    CHECK(reservation("", "fd00::1") == "fd00--1");
    CHECK(reservation("", "fd00::") == "fd00--0");
    CHECK(reservation("net", "10.0.0.5") == "net-10.0.0.5");
}

TEST_CASE("an AddressRange that can't be used is ignored, and says why") {
    const auto parse = [](const std::string& spec) {
        const json::Document object =
            json::Document::parse(R"({"metadata": {"name": "x", "uid": "u"}, "spec": {)" + spec + "}}");
        return parse_range(object.root());
    };
    const auto why = [&](const std::string& spec) { return std::get<IgnoredRange>(parse(spec)).why; };
    const auto range = std::get<AddressRange>(parse(
        R"("range": "fd00::/64", "networkName": "blue", "blockSize": 64, "requestable": "fd00::/120", "goneAfter": "1h30m")"));
    CHECK(range.subnet == base::IpPrefix::parse("fd00::/64"));
    CHECK(range.space == "blue");
    CHECK(range.block_size == 64);
    CHECK(range.requestable == base::IpPrefix::parse("fd00::/120"));
    CHECK(range.gone_after == std::chrono::minutes(90));
    const auto plain = std::get<AddressRange>(parse(R"("range": "10.0.0.0/24")"));
    CHECK(plain.block_size == 16);
    CHECK(plain.gone_after == kGoneAfter);
    using Catch::Matchers::Contains;
    CHECK_THAT(why(R"("range": "10.0.0.0/24", "store": "blocks")"),
               Contains("an earlier version") && Contains("delete it"));
    CHECK_THAT(why(R"("range": "10.0.0.1/24")"), Contains("spec.range") && Contains("10.0.0.1/24"));
    CHECK_THAT(why(R"("range": "fc00::/7")"), Contains("that can be cut into blocks"));
    CHECK_THAT(why(R"("range": "10.0.0.0/24", "blockSize": 24)"), Contains("a power of two"));
    CHECK_THAT(why(R"("range": "10.0.0.0/24", "requestable": "10.0.1.0/28")"), Contains("a part of the range"));
    for (const char* time : {"9m", "1", "h", "10x", "99999999999999h"})
        CHECK_THAT(why(R"("range": "10.0.0.0/24", "goneAfter": ")" + std::string(time) + '"'), Contains("10m"));
}
