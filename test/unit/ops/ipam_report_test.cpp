#include <rdmanet/ops/ipam_faults.hpp>
#include <rdmanet/ops/ipam_report.hpp>

#include <catch2/catch.hpp>

#include <algorithm>
#include <string>
#include <vector>

using namespace rdmanet;
using namespace rdmanet::ops;
using Catch::Matchers::Contains;

namespace {

/// From two stores, with 16 and one addresses that they still have.
IpamSurvey moved_range() {
    IpamSurvey survey;
    const base::IpPrefix subnet = base::IpPrefix::parse("10.0.0.0/24").value();
    const base::Uint128 first = subnet.network().value();
    survey.ranges = {{.name = "net-10.0.0.0-24",
                      .space = "net",
                      .store = "whereabouts",
                      .subnet = subnet,
                      .block_size = 16,
                      .from = {"blocks", "node"},
                      .held = {{first, first + 15}, {first + 40, first + 40}},
                      .is_confirmed = true}};
    return survey;
}

} // namespace

TEST_CASE("ipam show says where a range comes from and what other stores still have") {
    const IpamReport report = report_ipam(moved_range());
    CHECK_THAT(to_table(report),
               Contains("blocks+node>whereabouts  net    10.0.0.0/24  -    17 addresses  -     Addr") &&
                   !Contains("moving"));
    std::string json = to_json(report);
    json.erase(std::remove_if(json.begin(), json.end(), [](char c) { return c == ' ' || c == '\n'; }), json.end());
    CHECK_THAT(json, Contains(R"("from":["blocks","node"],"moving":false,"held":["10.0.0.0-10.0.0.15","10.0.0.40"])"));
}

TEST_CASE("ipam show says what completes a range that is half moved") {
    IpamSurvey survey = moved_range();
    survey.ranges.front().is_confirmed = false;
    CHECK(
        find_notes(survey) ==
        std::vector<std::string>{
            "AddressRange net-10.0.0.0-24: half moved from store \"blocks\" and \"node\" to store \"whereabouts\", and "
            "until it is moved, no new pod gets an address of it: run `rdmanet ipam migrate --to whereabouts` again "
            "with "
            "its network, or go back with `--to blocks`"});
    CHECK_THAT(to_table(report_ipam(survey)), Contains("moving: AddressRange net-10.0.0.0-24: half moved"));
    CHECK_THAT(to_json(report_ipam(survey)), Contains("\"moving\": true"));
    survey.ranges.front().from.clear(); // it is new, and a node is about to confirm it
    CHECK(find_notes(survey).empty());
}
