#include <rdmanet/base/ip_address.hpp>

#include <catch2/catch.hpp>

using namespace rdmanet::base;

TEST_CASE("addresses are read and written in canonical form, or refused") {
    const std::pair<const char*, const char*> forms[] = {{"10.1.2.3", "10.1.2.3"},
                                                         {"255.255.255.255", "255.255.255.255"},
                                                         {"2001:DB8:0:0:0:0:0:1", "2001:db8::1"},
                                                         {"::", "::"},
                                                         {"fe80::1", "fe80::1"},
                                                         {"::ffff:10.0.0.1", "10.0.0.1"}};
    for (const auto& [text, canonical] : forms) {
        const auto address = IpAddress::parse(text);
        REQUIRE(address);
        CHECK(address->to_string() == canonical);
        CHECK(IpAddress::from_bytes(address->family(), address->bytes().data()) == *address);
    }
    for (const char* text :
         {"", "10.1.2", "10.1.2.256", "010.1.2.3", "1.2.3.4 ", " 1.2.3.4", "1.2.3.4/24", "fe80::1%eth0", "::g",
          "1::2::3", "a", "0x0a000001", "2001:db8:0:0:0:0:0:1:2", "1111:2222:3333:4444:5555:6666:255.255.255.2555555"})
        CHECK_FALSE(IpAddress::parse(text));
    CHECK_FALSE(IpAddress::parse(std::string_view("1.2.3.4\0", 8)));
}

TEST_CASE("IPv4 addresses come before IPv6, then all bits decide, and both families have an unspecified one") {
    const auto at = [](const char* text) { return *IpAddress::parse(text); };
    CHECK(at("255.255.255.255") < at("::"));
    CHECK(at("10.0.0.9") < at("10.0.0.10"));
    CHECK(at("1::") > at("0:ffff:ffff:ffff:ffff:ffff:ffff:ffff"));
    CHECK(at("::1") != at("0.0.0.1"));
    CHECK(IpAddress(Family::v4, (Uint128{1} << 32U) | 5U) == at("0.0.0.5"));
    CHECK(at("0.0.0.0").is_unspecified());
    CHECK(at("::").is_unspecified());
    CHECK_FALSE(at("::1").is_unspecified());
}

TEST_CASE("prefixes keep their host bits, and have a first and a last address") {
    const auto prefix = IpPrefix::parse("10.1.2.3/22");
    REQUIRE(prefix);
    CHECK(prefix->to_string() == "10.1.2.3/22");
    CHECK(prefix->has_host_bits());
    CHECK(prefix->network().to_string() == "10.1.0.0");
    CHECK(prefix->last().to_string() == "10.1.3.255");
    CHECK(prefix->contains(*IpAddress::parse("10.1.3.9")));
    CHECK_FALSE(prefix->contains(*IpAddress::parse("10.1.4.0")));
    CHECK_FALSE(prefix->contains(*IpAddress::parse("::a01:203")));
    const auto all = IpPrefix::parse("2001:db8::1/0");
    REQUIRE(all);
    CHECK(all->is_default_route());
    CHECK(all->network().to_string() == "::");
    CHECK(all->last().to_string() == "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff");
    const auto one = IpPrefix::parse("2001:db8::1/128");
    REQUIRE(one);
    CHECK(one->network() == one->last());
    CHECK_FALSE(one->has_host_bits());
    CHECK(IpPrefix::parse("0.0.0.0/0")->last().to_string() == "255.255.255.255");
}

TEST_CASE("the length of an IPv4-mapped prefix counts all 128 bits, and invalid prefixes are refused") {
    CHECK(IpPrefix::parse("::ffff:10.1.2.3/120") == IpPrefix::parse("10.1.2.3/24"));
    CHECK(IpPrefix::parse("::ffff:10.1.2.3/128") == IpPrefix::parse("10.1.2.3/32"));
    CHECK(IpPrefix::parse("::ffff:10.1.2.3/96") == IpPrefix::parse("10.1.2.3/0"));
    for (const char* text : {"::ffff:10.1.2.3/24", "::ffff:10.1.2.3/95", "::ffff:10.1.2.3/129"})
        CHECK_FALSE(IpPrefix::parse(text));
    for (const char* text : {"", "10.0.0.1", "10.0.0.1/", "/24", "10.0.0.1/33", "::1/129", "10.0.0.1/-1", "10.0.0.1/ 8",
                             "10.0.0.1/24/24", "10.0.0/24", "10.0.0.1/255.255.255.0", "10.0.0.1/4294967304"})
        CHECK_FALSE(IpPrefix::parse(text));
    CHECK_FALSE(IpPrefix::make(*IpAddress::parse("10.0.0.1"), 33));
}
