// What a person may not release. What may be released is tested with a real API server, in test/e2e.
#include <rdmanet/ops/ipam_release.hpp>

#include "support/names.hpp"

#include <catch2/catch.hpp>

using namespace rdmanet;
using namespace rdmanet::ops;
using rdmanet::test::Names;

TEST_CASE("what another node holds is left to that node and to reconcile") {
    const auto address = base::IpAddress::parse("10.0.0.5");
    const LeasePlaces places;
    IpamClients clients(places);
    IpamSurvey survey;
    survey.node_name = "n1";
    survey.reservations = {{.name = "10.0.0.5", .address = address, .podref = "a/p", .node = "n2"}};
    survey.pools = {{.name = "10.0.0.0-24", .records = {{.key = "5", .address = address, .podref = "a/p"}}}};
    const auto kept = [&] {
        std::vector<std::string> whys;
        for (const Releasable& each : find_releasable({.pod = "a/p"}, survey, places, clients))
            whys.push_back(each.why_kept());
        REQUIRE(whys.size() == 2); // the reservation and the record
        CHECK(whys.front() == whys.back());
        return whys.front();
    };
    CHECK_THAT(kept(), Names("\"n2\"", "run this command there", "`rdmanet ipam reconcile`"));
    survey.reservations.front().node = "n1"; // and this is no node
    CHECK_THAT(kept(), Names("\"n1\""));
    survey.node.emplace();
    CHECK(kept() == "");
    survey.node.reset();
    survey.reservations.front().node = ""; // whereabouts made it
    CHECK(kept() == "");
}
