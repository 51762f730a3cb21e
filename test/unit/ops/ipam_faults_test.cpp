#include <rdmanet/ops/ipam_faults.hpp>

#include "support/names.hpp"

#include <catch2/catch.hpp>

#include <string>

using namespace rdmanet;
using namespace rdmanet::ops;
using rdmanet::test::Names;

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

TEST_CASE("an address in a block is not missing, whatever the pool of its range lacks") {
    IpamSurvey survey = healthy();
    survey.pods->push_back(pod("a/q", "10.0.0.9"));
    survey.blocks = {{.name = "b", .block = base::IpPrefix::parse("10.0.0.0/28")}};
    CHECK(faults(survey) == "");
    survey.blocks = {{.name = "b", .block = base::IpPrefix::parse("10.0.0.16/28")},
                     {.name = "c", .space = "other", .block = base::IpPrefix::parse("10.0.0.0/28")}};
    CHECK(faults(survey) == "missing 10.0.0.9 of pod \"a/q\"\n");
}

TEST_CASE("an AddressRange that is ignored is a fault, with what to do") {
    IpamSurvey survey;
    survey.ranges.ignored = {{.name = "old", .why = "it has \"store\": delete it"}};
    const std::vector<IpamFault> found = find_faults(survey);
    REQUIRE(found.size() == 1);
    CHECK(to_string(found.front().wrong) == "ignored");
    CHECK(found.front().about == "AddressRange old");
    CHECK(found.front().text == "it has \"store\": delete it");
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

TEST_CASE("several records of one interface are stale, but for the one that its pod uses") {
    IpamSurvey survey = healthy();
    survey.pools.front().records.push_back(record("10.0.0.6", "a/p", "c0"));
    CHECK(faults(survey) == "stale 10.0.0.6 in IPPool 10.0.0.0/24\n");
    SECTION("nobody knows which one it uses") {
        survey.pods->front().addresses.clear();
        CHECK(faults(survey) == "stale 10.0.0.5 in IPPool 10.0.0.0/24\nstale 10.0.0.6 in IPPool 10.0.0.0/24\n");
    }
    SECTION("they are of two interfaces") {
        survey.pools.front().records.back().ifname = "net2";
        CHECK(faults(survey) == "");
    }
    SECTION("they don't say their interfaces") {
        for (cluster::SeenRecord& each : survey.pools.front().records) each.ifname.clear();
        CHECK(faults(survey) == "");
    }
    SECTION("they are in two pools") {
        survey.pools.push_back(pool("10.0.1.0/24", {record("10.0.1.6", "a/p", "c1")}));
        survey.pools.front().records.pop_back();
        CHECK(faults(survey) == "");
    }
    SECTION("this node gives one back") {
        survey.holders = {{.what = "x", .container_id = "c0", .ifname = "net1", .has_record = true, .owes = true}};
        CHECK(faults(survey) == "");
    }
}

TEST_CASE("a reservation that no pool leads to is repaired if its pod lives") {
    IpamSurvey survey;
    survey.pods = {pod("a/p", "10.0.0.7")};
    survey.reservations = {{.name = "10.0.0.7",
                            .address = base::IpAddress::parse("10.0.0.7"),
                            .podref = "a/p",
                            .ifname = "net1",
                            .container_id = "c1"}};
    const auto advises_repair = [&] {
        const std::vector<IpamFault> found = find_faults(survey);
        REQUIRE(found.size() == 1);
        return found.front().text.find("`rdmanet ipam check --repair`") != std::string::npos;
    };
    CHECK(advises_repair());
    survey.pods->front().addresses.clear(); // before Multus has noted them
    CHECK(advises_repair());
    survey.reservations.front().pod_uid = "former";
    CHECK_FALSE(advises_repair());
    survey.pods->front().hash = "former"; // a static pod
    CHECK(advises_repair());
    survey.pods->front() = pod("a/p", "10.0.0.8");
    CHECK_FALSE(advises_repair());
    survey.pods->clear(); // `kubectl delete --force`, and it still runs here
    survey.holders = {
        {.what = "x", .container_id = "c1", .ifname = "net1", .pod = {.liveness = ipam::Liveness::alive}}};
    CHECK(advises_repair());
    survey.holders.front().pod = {.liveness = ipam::Liveness::dead};
    survey.holders.front().owes = true;
    CHECK_FALSE(advises_repair());
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

TEST_CASE("blocks of this node that the cluster does not have, or has for another node, name their pods") {
    IpamSurvey survey;
    survey.seen.blocks.emplace();
    survey.node.emplace();
    survey.node->blocks = {{.space = "s",
                            .prefix = *base::IpPrefix::parse("10.0.0.0/28"),
                            .state = ipam::BlockState::open,
                            .uid = "b1",
                            .node_uid = "u1",
                            .holder = "n2",
                            .leases = 1}};
    survey.node->in_blocks = {{.space = "s",
                               .address = *base::IpPrefix::parse("10.0.0.5/24"),
                               .owner = {.pod_namespace = "a", .pod_name = "p"}}};
    survey.blocks = {{.name = "b",
                      .space = "s",
                      .block = base::IpPrefix::parse("10.0.0.0/28"),
                      .node = "n2",
                      .node_uid = "u1",
                      .uid = "b1"}};
    CHECK(faults(survey) == "");
    const auto found = [&](const char* kind) {
        const std::vector<IpamFault> all = find_faults(survey);
        REQUIRE(all.size() == 1);
        CHECK(all.front().about == "block 10.0.0.0/28 of this node");
        CHECK(to_string(all.front().wrong) == kind);
        return all.front().text;
    };
    SECTION("this node is registered anew") {
        survey.blocks.front().node_uid = "u2";
        CHECK(faults(survey) == "");
    }
    SECTION("it is lost") {
        survey.node->blocks.front().state = ipam::BlockState::lost;
        CHECK_THAT(found("double"), Names("\"a/p\"", "\"n2\""));
        survey.seen.blocks.reset(); // the node's file knows it without the server
        CHECK_THAT(found("double"), Names("\"a/p\""));
    }
    SECTION("another node has made one") {
        survey.blocks.front().uid = "b2";
        CHECK(faults(survey) == ""); // this node, and it will find out
        survey.blocks.front().node_uid = "u2";
        CHECK_THAT(found("double"), Names("\"a/p\"", "\"n2\""));
    }
    SECTION("somebody has removed it") {
        survey.blocks.clear();
        CHECK_THAT(found("missing"), Names("\"a/p\"", "`rdmanet ipam check --repair`"));
        SECTION("and nobody can say that") {
            survey.seen.blocks.reset();
        }
        SECTION("and nobody uses it") {
            survey.node->blocks.front().leases = 0;
        }
        CHECK(faults(survey) == "");
    }
}
