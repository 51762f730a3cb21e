#include "config_case.hpp"

#include "support/concat.hpp"
#include "support/names.hpp"

#include <catch2/catch.hpp>

using namespace rdmanet;
using namespace rdmanet::ipam;
using namespace rdmanet::ipam::test;
using Catch::Matchers::Contains;
using rdmanet::test::concat;
using rdmanet::test::Names;

namespace {

std::string usable_of(const Config& config, std::size_t at = 0) {
    std::string text;
    const Range& range = config.ranges.at(at).range;
    for (const Interval& i : range.usable())
        text += base::IpAddress(range.family(), i.first).to_string() + "-" +
                base::IpAddress(range.family(), i.last).to_string() + " ";
    return text;
}

} // namespace

TEST_CASE("a range alone is enough") {
    const Config parsed = config(R"({"type": "rdmanet", "range": "10.0.0.0/24"})");
    CHECK(usable_of(parsed) == "10.0.0.1-10.0.0.254 ");
    CHECK(parsed.ranges[0].space.empty());
    CHECK_FALSE(parsed.ranges[0].gateway);
    CHECK(parsed.cooldown == std::chrono::seconds(30));
    CHECK(parsed.warnings.empty());
}

TEST_CASE("start, end and excludes narrow a range") {
    CHECK(usable_of(config(R"({"range": "10.0.0.0/24", "range_start": "10.0.0.10", "range_end": "10.0.0.20",
                               "exclude": ["10.0.0.12/31", "10.0.0.15"]})")) ==
          "10.0.0.10-10.0.0.11 10.0.0.14-10.0.0.14 10.0.0.16-10.0.0.20 ");
    CHECK(usable_of(config(R"({"range": "10.0.0.10-10.0.0.20/24"})")) == "10.0.0.10-10.0.0.20 ");
    CHECK(usable_of(config(R"({"RANGE": "fd00::5-fd00::9/64", "exclude": ["fd00::6"]})")) ==
          "fd00::5-fd00::5 fd00::7-fd00::9 ");
}

TEST_CASE("ipRanges follow range, each with its own keys") {
    const Config parsed = config(R"({"range": "10.0.0.0/24", "gateway": "10.0.0.1",
        "ipRanges": [{"range": "fd00::/64", "range_start": "fd00::10", "exclude": ["fd00::11"], "gateway": "fd00::1"},
                     {"range": "10.0.0.0/16"}]})");
    REQUIRE(parsed.ranges.size() == 3);
    CHECK(usable_of(parsed, 0) == "10.0.0.2-10.0.0.254 ");
    CHECK(usable_of(parsed, 1) == "fd00::10-fd00::10 fd00::12-fd00::ffff:ffff:ffff:fffe ");
    CHECK(usable_of(parsed, 2) == "10.0.0.2-10.0.255.254 ");
    CHECK(parsed.ranges[0].gateway == ip("10.0.0.1"));
    CHECK(parsed.ranges[1].gateway == ip("fd00::1"));
    CHECK(parsed.ranges[2].gateway == ip("10.0.0.1"));
    CHECK(parsed.warnings.empty());
}

TEST_CASE("an attachment has up to 256 ranges") {
    std::string ranges = R"({"range": "10.0.0.0/24"})";
    for (int number = 1; number < 256; ++number) ranges += concat(R"(, {"range": "10.0.)", number, R"(.0/24"})");
    CHECK(config(concat(R"({"ipRanges": [)", ranges, "]}")).ranges.size() == 256);
    CHECK_THAT(refusal_of(concat(R"({"range": "10.1.0.0/24", "ipRanges": [)", ranges, "]}")),
               Names("ipRanges", "256", "257"));
}

TEST_CASE("a gateway applies to the ranges of its family that contain it") {
    const Config parsed = config(R"({"gateway": "10.0.0.1", "ipRanges": [{"range": "fd00::/64"},
        {"range": "10.0.0.0/24"}, {"range": "10.1.0.0/24"}], "exclude_gateway": false})");
    CHECK_FALSE(parsed.ranges[0].gateway);
    CHECK(parsed.ranges[1].gateway == ip("10.0.0.1"));
    CHECK_FALSE(parsed.ranges[2].gateway);
    CHECK(usable_of(parsed, 1) == "10.0.0.1-10.0.0.254 ");

    CHECK_THAT(only_warning(R"({"range": "10.0.0.0/24", "gateway": "10.0.1.1"})"),
               Names("gateway", "10.0.1.1", "remove it"));
    CHECK(config(R"({"range": "10.0.0.0/24", "gateway": ""})").warnings.empty());
}

TEST_CASE("addresses of routers are not given") {
    const auto usable = [](std::string_view more) {
        return usable_of(config(concat(R"({"range": "10.0.0.0/29", "gateway": "10.0.0.1", "routes":
            [{"dst": "10.9.0.0/16", "gw": "10.0.0.4"}, {"dst": "10.8.0.0/16", "gw": "10.7.0.1"}])",
                                       more, "}")));
    };
    CHECK(usable("") == "10.0.0.2-10.0.0.3 10.0.0.5-10.0.0.6 ");
    CHECK(usable(R"(, "exclude_gateway": false)") == "10.0.0.1-10.0.0.6 ");
}

TEST_CASE("a range without an address for an interface is refused") {
    for (const char* range : {"::/0", "0.0.0.0/0", "127.0.0.0/24", "224.0.0.0/24", "192.0.0.0/2", "ff02::/64", "::/64"})
        CHECK_THROWS_WITH(config(std::string(R"({"range": ")") + range + R"("})"),
                          Names("range", "interface can have"));
}

TEST_CASE("small ranges need enable_l3") {
    CHECK_THAT(refusal_of(R"({"range": "10.0.0.0/31"})"), Names("10.0.0.0/31", "too small", "\"enable_l3\": true"));
    CHECK_THAT(refusal_of(R"({"range": "fd00::/127"})"), Contains("too small"));
    CHECK(usable_of(config(R"({"range": "10.0.0.0/31", "enable_l3": true})")) == "10.0.0.0-10.0.0.1 ");
    CHECK(usable_of(config(R"({"range": "fd00::7/128", "enable_l3": true})")) == "fd00::7-fd00::7 ");
    CHECK(usable_of(config(R"({"ipRanges": [{"range": "10.0.0.8/32", "enable_l3": true}]})")) == "10.0.0.8-10.0.0.8 ");
    CHECK(usable_of(config(R"({"range": "10.0.0.0/30"})")) == "10.0.0.1-10.0.0.2 ");
    CHECK(usable_of(config(R"({"range": "4000::/2", "enable_l3": true})")) ==
          "4000::-7fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff ");
}

TEST_CASE("keys that whereabouts silently ignores produce a warning") {
    CHECK_THAT(only_warning(R"({"range": "10.0.0.100/24"})"),
               Names("host bits", "10.0.0.100/24", "ignored", "10.0.0.0/24"));
    CHECK_THAT(only_warning(R"({"range": "10.0.0.0/24", "range_end": "10.0.0.255"})"),
               Names("range_end", "10.0.0.255", "ignored", "10.0.0.1", "10.0.0.254"));
    CHECK_FALSE(config(R"({"range": "10.0.0.0/24", "range_end": "10.0.0.255"})").fault);
    CHECK_THAT(only_warning(R"({"range": "10.0.0.0-10.0.0.9/24"})"), Names("10.0.0.0", "ignored"));
    CHECK_THAT(only_warning(R"({"range": "10.0.0.4-10.0.0.9/24", "range_start": "10.0.0.5"})"),
               Names("range_start", "ignored", "10.0.0.4-10.0.0.9/24"));
    CHECK_THAT(only_warning(R"({"range": "10.0.0.0/24", "exclude": ["10.0.0.229/30"]})"),
               Names("host bits", "exclude[0]", "10.0.0.229/30", "10.0.0.228", "10.0.0.231"));
    CHECK_THAT(only_warning(R"({"range": "10.0.0.0/24", "exclude": ["10.0.1.0/24"]})"),
               Names("exclude[0]", "10.0.1.0/24", "10.0.0.0/24"));
    CHECK_THAT(only_warning(R"({"ipRanges": [{"range": "10.0.0.0/24"}], "exclude": ["10.0.0.5"]})"),
               Names("exclude", "ignored", "\"range\""));
}

TEST_CASE("a start or an end outside of the range is a fault, which does not affect an attachment with an address") {
    const Config faulty = config(R"({"range": "10.0.0.7/24", "range_start": "10.0.1.1", "range_end": "9.9.9.9"})");
    CHECK(usable_of(faulty) == "10.0.0.1-10.0.0.254 ");
    REQUIRE(faulty.fault);
    CHECK_THAT(std::string(faulty.fault->what()), Names("range_start", "10.0.0.0/24", "10.0.1.1"));
}

TEST_CASE("keys without meaning here are accepted; unknown keys and keys about uniqueness produce a warning") {
    CHECK(config(R"({"range": "10.0.0.0/24", "log_file": "/x", "log_level": "debug", "datastore": "kubernetes",
        "leader_lease_duration": 1500, "sleep_for_race": 0,
        "reconciler_cron_expression": "* * * * *", "node_slice_size": "", "etcd_host": "10.0.0.9:2379", "configuration_path": ""})")
              .warnings.empty());
    // The cluster has a say, too.
    CHECK(config(R"({"range": "10.0.0.0/24", "store": "node", "kubernetes": {"kubeconfig": "/etc/k"}})")
              .warnings.empty());
    CHECK_THAT(only_warning(R"({"range": "10.0.0.0/24", "rangeStart": "10.0.0.9"})"),
               Names("rangeStart", "unknown key", "\"range_start\""));
}

TEST_CASE("unknown keys in nested objects produce a warning too") {
    struct Row {
        const char* members;
        const char* key;
        const char* suggestion; // empty: none
    };
    const Row rows[] = {
        {R"("ipRanges": [{"range": "10.1.0.0/24"}, {"range": "10.2.0.0/24", "range_star": "10.2.0.9"}])",
         "ipRanges[1].range_star", R"("range_start")"},
        {R"("routes": [{"dst": "10.9.0.0/16", "metric": 5}])", "routes[0].metric", ""},
        {R"("addresses": [{"address": "10.9.0.9/16", "gatway": "10.9.0.1"}])", "addresses[0].gatway", R"("gateway")"},
        {R"("dns": {"nameserver": ["10.0.0.53"]})", "dns.nameserver", R"("nameservers")"},
    };
    for (const auto& [members, key, suggestion] : rows)
        CHECK_THAT(only_warning(R"({"range": "10.0.0.0/24", )" + std::string(members) + "}"),
                   Names(key, "unknown key", suggestion));
    CHECK(config(R"({"range": "10.0.0.0/24", "$comment": "", "type": "rdmanet", "enable_overlapping_ranges": true,
        "network_name": "n", "cooldown": 1, "exclude_gateway": true, "Gateway": "10.0.0.1", "exclude": [],
        "ipRanges": [{"range": "fd00::/64", "range_start": "fd00::2", "range_end": "fd00::9", "exclude": ["fd00::3"],
                      "gateway": "fd00::1", "enable_l3": false, "$comment": ""}],
        "routes": [{"dst": "10.9.0.0/16", "gw": "10.0.0.1", "mtu": 1, "advmss": 1, "priority": 1, "TABLE": 1, "scope": 0}],
        "addresses": [{"address": "10.9.0.9/16", "gateway": "10.9.0.1"}],
        "dns": {"nameservers": [], "domain": "", "search": [], "options": []}})")
              .warnings.empty());
}

TEST_CASE("the refusal of an impossible value has the path of its key") {
    CHECK_THAT(refusal_of(R"({})"), Names("range", "ipRanges", "addresses"));
    CHECK_THAT(refusal_of(R"({"rnage": "10.0.0.0/24"})"), Names("ipRanges", "rnage", "did you mean \"range\""));
    CHECK_THAT(refusal_of(R"({"range": 5})"), Names("range", "string", "5"));
    CHECK_THAT(refusal_of(R"({"range": "10.0.0.0"})"), Contains("range: ") && Contains("found \"10.0.0.0\""));
    CHECK_THAT(refusal_of(R"({"range": "10.0.0.0/33"})"), Contains("range: "));
    CHECK_THAT(refusal_of(R"({"range": "10.0.1.1-10.0.0.9/24"})"), Contains("is not in 10.0.0.0/24"));
    CHECK_THAT(refusal_of(R"({"range": "fd00::1-10.0.0.9/24"})"), Names("range", "IPv4", "fd00::1"));
    CHECK_THAT(refusal_of(R"({"range": "10.0.0.9-10.0.0.1/24"})"), Names("range", "10.0.0.1", "before"));
    CHECK_THAT(refusal_of(R"({"range": "10.0.0.0/24", "range_start": "x"})"), Contains("range_start: "));
    CHECK_THAT(refusal_of(R"({"range": "10.0.0.0/24", "range_start": "10.0.0.9", "range_end": "10.0.0.8"})"),
               Names("range_end", "before", "10.0.0.9"));
    CHECK_THAT(refusal_of(R"({"range": "10.0.0.0/24", "range_start": "fd00::1"})"), Names("range_start", "IPv4"));
    CHECK_THAT(refusal_of(R"({"range": "10.0.0.0/24", "exclude": ["10.0.0.300"]})"), Contains("exclude[0]: "));
    CHECK_THAT(refusal_of(R"({"range": "10.0.0.0/24", "exclude": ["fd00::/100"]})"), Names("exclude[0]", "IPv4"));
    CHECK_THAT(refusal_of(R"({"range": "10.0.0.0/24", "exclude": ["fd00::1"]})"), Contains("exclude[0]: "));
    CHECK_THAT(refusal_of(R"({"range": "10.0.0.0/24", "exclude": "10.0.0.1"})"), Names("exclude", "array", "10.0.0.1"));
    CHECK_THAT(refusal_of(R"({"range": "10.0.0.0/24", "exclude": ["10.0.0.0/25", "10.0.0.128/25"]})"),
               Names("no address", "10.0.0.0/24"));
    CHECK_THAT(refusal_of(R"({"range": "10.0.0.1/32", "enable_l3": true, "gateway": "10.0.0.1"})"),
               Contains("gateway"));
    CHECK_THAT(refusal_of(R"({"range": "10.0.0.0/24", "gateway": "10.0.0.1/24"})"), Contains("gateway: "));
    CHECK_THAT(refusal_of(R"({"ipRanges": [{"range": "10.0.0.0/24"}, {"range_start": "10.0.0.1"}]})"),
               Names("ipRanges[1]", "missing", "range"));
    CHECK_THAT(refusal_of(R"({"ipRanges": [{"range": "10.0.0.0/24", "gateway": "10.0.1.1"}]})"),
               Names("ipRanges[0].gateway", "10.0.0.0/24"));
    CHECK_THAT(refusal_of(R"({"range": "010.0.0.0/24"})"), Contains("leading zeros"));
    CHECK_THAT(refusal_of(R"({"range": "10.0.0.0/24", "range_start": "10.0.0.010"})"), Contains("leading zeros"));
    CHECK_THAT(refusal_of(R"({"range": "10.0.0.0/24", "cooldown": -1})"), Contains("cooldown: "));
    CHECK_THAT(refusal_of(R"({"range": "10.0.0.0/24", "cooldown": 86401})"), Contains("cooldown: "));
    CHECK_THAT(refusal_of(R"({"range": "10.0.0.0/24", "enable_l3": "yes"})"), Contains("enable_l3: "));
    CHECK_THAT(refusal_of(R"({"range": "10.0.0.0/24", "network_name": "a@b"})"), Contains("network_name: "));
}

TEST_CASE("the address space is the network name, and also the range if ranges may not overlap") {
    CHECK(config(R"({"range": "10.0.0.0/24", "network_name": "blue"})").ranges[0].space == "blue");
    const Config own = config(R"({"range": "10.0.0.7/24", "network_name": "blue", "enable_overlapping_ranges": false,
        "addresses": [{"address": "10.0.0.9/24"}, {"address": "10.9.0.9/16"}]})");
    CHECK(own.ranges[0].space == "blue@10.0.0.0/24");
    CHECK(own.addresses[0].space == "blue@10.0.0.0/24");
    CHECK(own.addresses[1].space == "blue@10.9.0.0/16");
}

TEST_CASE("static addresses are parsed") {
    const Config parsed =
        config(R"({"addresses": [{"address": "10.0.0.9/24", "gateway": "10.0.0.1"}, {"address": "fd00::9/64"}]})");
    REQUIRE(parsed.addresses.size() == 2);
    CHECK(parsed.addresses[0].address == prefix("10.0.0.9/24"));
    CHECK(parsed.addresses[0].gateway == ip("10.0.0.1"));
    CHECK(parsed.addresses[1].address == prefix("fd00::9/64"));
    CHECK_THAT(refusal_of(R"({"addresses": [{"address": "10.0.0.9"}]})"), Contains("addresses[0].address: "));
    CHECK_THAT(refusal_of(R"({"addresses": [{"address": "10.0.0.9/24", "gateway": "fd00::1"}]})"),
               Contains("addresses[0].gateway: "));
    CHECK_THAT(refusal_of(R"({"addresses": [{"address": "10.0.0.9/24"}, {"address": "10.0.0.9/16"}]})"),
               Names("addresses[1]", "10.0.0.9", "twice"));
    CHECK_THAT(refusal_of(R"({"addresses": [{"address": "224.0.0.9/24"}]})"), Contains("addresses[0].address: "));
}

TEST_CASE("a static address must be a host's, unless enable_l3 is set") {
    const auto with = [](const std::string& address, const std::string& more) {
        return R"({"addresses": [{"address": ")" + address + "\"}]" + more + "}";
    };
    for (const char* address : {"10.1.2.0/24", "10.1.2.255/24", "10.1.2.0/30", "10.1.2.3/30", "10.0.0.0/8", "fd00::/64",
                                "fd00::ffff:ffff:ffff:ffff/64", "fd00::4/126"}) {
        INFO(address);
        CHECK_THAT(refusal_of(with(address, "")), Names("addresses[0].address", "\"enable_l3\": true"));
        CHECK(config(with(address, R"(, "enable_l3": true)")).addresses[0].address == prefix(address));
    }
    for (const char* address :
         {"10.1.2.1/24", "10.1.2.254/24", "10.1.2.0/31", "10.1.2.1/31", "10.1.2.0/32", "10.1.3.0/22", "fd00::1/64",
          "fd00::/127", "fd00::1/127", "fd00::/128", "fd00::5/126"}) {
        INFO(address);
        CHECK(config(with(address, "")).addresses[0].address == prefix(address));
    }
}

TEST_CASE("routes and DNS are passed on") {
    const Config parsed = config(R"({"range": "10.0.0.0/24",
        "routes": [{"dst": "0.0.0.0/0", "gw": "10.0.0.1", "mtu": 9000, "advmss": 8960, "priority": 100,
                    "table": 4294967295, "scope": 253}, {"dst": "fd00::/8"}],
        "dns": {"nameservers": ["10.0.0.2"], "domain": "a", "search": ["b"], "options": ["c"]}})");
    REQUIRE(parsed.routes.size() == 2);
    CHECK(parsed.routes[0].destination == prefix("0.0.0.0/0"));
    CHECK(parsed.routes[0].gateway == ip("10.0.0.1"));
    CHECK(parsed.routes[0].mtu == 9000U);
    CHECK(parsed.routes[0].advmss == 8960U);
    CHECK(parsed.routes[0].priority == 100U);
    CHECK(parsed.routes[0].table == 4294967295U);
    CHECK(parsed.routes[0].scope == 253);
    CHECK_FALSE(parsed.routes[1].gateway);
    CHECK(parsed.dns.nameservers == std::vector<std::string>{"10.0.0.2"});
    CHECK(parsed.dns.domain == "a");
    CHECK_THAT(refusal_of(R"({"range": "10.0.0.0/24", "routes": [{"gw": "10.0.0.1"}]})"),
               Contains("routes[0]: missing"));
    CHECK_THAT(refusal_of(R"({"range": "10.0.0.0/24", "routes": [{"dst": "10.0.0.0/8", "gw": "fd00::1"}]})"),
               Contains("routes[0].gw: "));
    CHECK_THAT(refusal_of(R"({"range": "10.0.0.0/24", "routes": [{"dst": "10.0.0.0/8", "scope": 256}]})"),
               Contains("routes[0].scope: "));
}
