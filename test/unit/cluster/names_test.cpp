#include "blocks/objects.hpp"

#include <rdmanet/cluster/whereabouts_store.hpp>

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

TEST_CASE("an AddressRange that can't be cut is refused, and one of whereabouts may have any size") {
    const auto parse = [](const std::string& range, const std::string& store) {
        const json::Document object = json::Document::parse(
            R"({"metadata": {"name": "x", "resourceVersion": "1", "uid": "u"}, "spec": {"range": ")" + range +
            R"(", "store": ")" + store + R"(", "blockSize": 16}})");
        return RangeObject::parse(object.root()).subnet.length();
    };
    CHECK(parse("fc00::/8", "blocks") == 8);
    CHECK(parse("::/0", "whereabouts") == 0);
    for (const char* range : {"::/0", "fc00::/7"}) CHECK_THROWS_AS(parse(range, "blocks"), json::ValueError);
}
