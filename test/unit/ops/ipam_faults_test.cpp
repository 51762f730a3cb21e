#include <rdmanet/ops/ipam_faults.hpp>

#include <catch2/catch.hpp>

#include <string>

using namespace rdmanet;
using namespace rdmanet::ops;

namespace {

cluster::SeenRecord record(const char* address, const char* podref, const char* container) {
    return {.key = "1",
            .address = base::IpAddress::parse(address),
            .container_id = container,
            .podref = podref,
            .ifname = "net1",
            .text = "{}"};
}

cluster::SeenPool pool(const char* range, std::vector<cluster::SeenRecord> records) {
    return {.name = range,
            .range = range,
            .subnet = base::IpPrefix::parse(range),
            .size = 1000,
            .records = std::move(records)};
}

cluster::SeenPod pod(const char* name, const char* address) {
    return {.name = name, .uid = "u", .addresses = {{.network = "a/net", .address = *base::IpAddress::parse(address)}}};
}

/// "KIND ABOUT" of each.
std::string faults(const IpamSurvey& survey) {
    std::string text;
    for (const IpamFault& fault : find_faults(survey))
        text += std::string(to_string(fault.wrong)) + ' ' + fault.about + '\n';
    return text;
}

IpamSurvey healthy() {
    IpamSurvey survey;
    survey.pools = {pool("10.0.0.0/24", {record("10.0.0.5", "a/p", "c1")})};
    survey.pods = {pod("a/p", "10.0.0.5")};
    survey.networks = {"a/net"};
    return survey;
}

} // namespace

TEST_CASE("a survey without faults has none, whoever wrote the records, unless a pool is nearly as large as the server "
          "takes") {
    CHECK(faults(healthy()) == "");
    CHECK(faults({}) == "");
    IpamSurvey twice_the_same = healthy(); // a pod in two pools that overlap, as whereabouts reads one record
    twice_the_same.pools.push_back(pool("10.0.0.0/25", {}));
    CHECK(faults(twice_the_same) == "");
    IpamSurvey survey = healthy();
    survey.pools.front().size = (1536 << 10U) * 7 / 10;
    CHECK(faults(survey) == "size IPPool 10.0.0.0/24\n");
}

TEST_CASE("a record whose pod does not exist is stale, unless nobody can say or this node gives it back") {
    IpamSurvey survey = healthy();
    survey.pods->clear();
    CHECK(faults(survey) == "stale 10.0.0.5 in IPPool 10.0.0.0/24\n");
    SECTION("this node owes it") {
        survey.holders = {{.what = "x", .container_id = "c1", .ifname = "net1", .has_record = true, .owes = true}};
    }
    SECTION("pods can't be listed") {
        survey.pods.reset();
    }
    CHECK(faults(survey) == "");
}

TEST_CASE("an address that a pod uses and no pool has is missing") {
    IpamSurvey survey = healthy();
    survey.pods->push_back(pod("a/q", "10.0.0.9"));
    CHECK(faults(survey) == "missing 10.0.0.9 of pod \"a/q\"\n");
    SECTION("another plugin gives the addresses of the network") {
        survey.networks.clear();
    }
    SECTION("the pod is being deleted") {
        survey.pods->back().is_going = true;
    }
    SECTION("two spaces have the range, and the status does not say which one") {
        survey.pools.push_back(pool("10.0.0.0/24", {}));
        survey.pools.back().space = "other";
    }
    CHECK(faults(survey) == "");
}

TEST_CASE("an address that another store may have is not missing") {
    IpamSurvey survey = healthy();
    survey.pools.push_back(pool("fd00::/64", {}));
    survey.pods->push_back(pod("a/q", "10.0.0.9"));
    REQUIRE(faults(survey) == "missing 10.0.0.9 of pod \"a/q\"\n");
    survey.ranges = {{.name = "r", .store = "blocks", .subnet = base::IpPrefix::parse("10.0.0.0/24")}};
    SECTION("a node has a block with it") {
        survey.blocks = {{.name = "b", .block = base::IpPrefix::parse("10.0.0.0/28")}};
        CHECK(faults(survey) == "");
    }
    SECTION("no node has a block with it") {
        survey.blocks = {{.name = "b", .block = base::IpPrefix::parse("10.0.0.16/28")},
                         {.name = "c", .space = "other", .block = base::IpPrefix::parse("10.0.0.0/28")},
                         {.name = "d", .block = base::IpPrefix::parse("10.0.0.0/28"), .is_released = true}};
        CHECK(faults(survey) == "missing 10.0.0.9 of pod \"a/q\"\n");
    }
    SECTION("the range is or was in a store that this survey does not list") {
        survey.ranges.front().store = GENERATE("node", "whereabouts>blocks");
        CHECK(faults(survey) == "");
        survey.ranges.front().subnet = base::IpPrefix::parse("10.0.1.0/24");
        CHECK(faults(survey) == "missing 10.0.0.9 of pod \"a/q\"\n");
        survey.ranges.front().subnet = base::IpPrefix::parse("10.0.0.0/24");
        survey.ranges.front().space = "other";
        CHECK(faults(survey) == "missing 10.0.0.9 of pod \"a/q\"\n");
    }
    SECTION("addresses are unique in their range only") {
        survey.ranges.front().space = "@10.0.0.0/24";
        survey.ranges.front().store = "node";
        CHECK(faults(survey) == "");
    }
}

TEST_CASE("an address that two have is double") {
    IpamSurvey survey = healthy();
    SECTION("in two pools that overlap") {
        survey.pods->push_back(pod("a/q", "10.0.0.1"));
        survey.pods->back().addresses.clear();
        survey.pools.push_back(pool("10.0.0.0/25", {record("10.0.0.5", "a/q", "c2")}));
        CHECK(faults(survey) == "double 10.0.0.5 in IPPool 10.0.0.0/25\n");
    }
    SECTION("in a pool and in a reservation") {
        survey.reservations = {{.name = "10.0.0.5", .address = base::IpAddress::parse("10.0.0.5"), .podref = "a/q"}};
        CHECK(faults(survey) == "double OverlappingRangeIPReservation 10.0.0.5\n");
    }
    SECTION("in a pool and in a pod") {
        survey.pods->insert(survey.pods->begin(), pod("a/q", "10.0.0.5"));
        CHECK(faults(survey) == "double 10.0.0.5 of pod \"a/q\"\ndouble 10.0.0.5 of pod \"a/p\"\n");
    }
}

TEST_CASE("a reservation that no pool leads to is stale, or its pod's address is missing, and a slice of its network "
          "leads to it") {
    IpamSurvey survey = healthy();
    survey.reservations = {{.name = "10.0.0.7", .address = base::IpAddress::parse("10.0.0.7"), .podref = "a/p"}};
    CHECK(faults(survey) == "stale OverlappingRangeIPReservation 10.0.0.7\n");
    survey.networks.clear();
    survey.pods->push_back(pod("a/q", "10.0.0.7"));
    survey.reservations.front().podref = "a/q";
    CHECK(faults(survey) == "missing OverlappingRangeIPReservation 10.0.0.7\n");
    survey = healthy(); // whereabouts names the slice by the node, too, and the reservation does not
    survey.pools.front().space = "net-n1";
    survey.reservations = {
        {.name = "net-10.0.0.5", .space = "net", .address = base::IpAddress::parse("10.0.0.5"), .podref = "a/p"}};
    CHECK(faults(survey) == "");
    survey.reservations.front().podref = "a/q"; // another network may be called like the slice's network and node
    CHECK(faults(survey) == "stale OverlappingRangeIPReservation net-10.0.0.5\n");
}

TEST_CASE("a block is stale if its node is gone by UID and by boot id") {
    IpamSurvey survey;
    survey.blocks = {
        {.name = "b", .block = base::IpPrefix::parse("10.0.0.0/28"), .node = "n", .node_uid = "u", .boot_id = "t"}};
    CHECK(faults(survey) == "");
    survey.nodes = {{.name = "m", .uid = "u2", .boot_id = "t2"}};
    CHECK(faults(survey) == "stale AddressBlock b\n");
    survey.nodes->front().boot_id = "t"; // registered anew
    CHECK(faults(survey) == "");
    survey.nodes->front() = {.name = "n", .uid = "u", .boot_id = "t2"}; // rebooted
    CHECK(faults(survey) == "");
}
