#include <rdmanet/ops/ipam_report.hpp>

#include "support/line_with.hpp"
#include "support/names.hpp"

#include <catch2/catch.hpp>

#include <string>

using namespace rdmanet;
using namespace rdmanet::ops;
using rdmanet::test::line_with;
using rdmanet::test::Names;

namespace {

cluster::SeenBlock block(const char* prefix, std::uint64_t in_use) {
    return {.name = prefix,
            .range = base::IpPrefix::parse("10.0.0.0/24"),
            .range_uid = "r1",
            .block = base::IpPrefix::parse(prefix),
            .node = "n1",
            .in_use = in_use};
}

} // namespace

TEST_CASE("a declared range has its blocks, and how many of them are empty") {
    IpamSurvey survey;
    survey.ranges.declared = {{.name = "roce", .uid = "r1", .subnet = *base::IpPrefix::parse("10.0.0.0/24")}};
    survey.blocks = {block("10.0.0.0/28", 3), block("10.0.0.16/28", 0), block("10.0.0.32/28", 0)};
    survey.blocks.push_back(block("10.0.0.48/28", 0));
    survey.blocks.back().range_uid = "former";
    const IpamReport report = report_ipam(survey);
    CHECK_THAT(line_with("AddressRange roce", to_table(report)), Names("blocks", "10.0.0.0/24", "3 blocks, 2 empty"));
    const json::Document document = json::Document::parse(to_json(report));
    const json::Reader range = document.root().at("ranges").elements().at(0);
    CHECK(range.at("blocks").to_text() == "3");
    CHECK(range.at("emptyBlocks").to_text() == "2");
    CHECK(report.blocks.size() == 4);
}

TEST_CASE("what no longer gives addresses is marked") {
    IpamSurvey survey;
    survey.ranges.declared = {
        {.name = "roce", .uid = "r1", .subnet = *base::IpPrefix::parse("10.0.0.0/24"), .is_going = true}};
    survey.ranges.ignored = {{.name = "old", .why = "delete it"}};
    survey.blocks = {block("10.0.0.0/28", 3)};
    survey.blocks.front().is_node_gone = true;
    survey.pools = {
        {.name = "10.0.0.0-24", .range = "10.0.0.0/24", .subnet = base::IpPrefix::parse("10.0.0.0/24"), .mark = "r1"}};
    const std::string table = to_table(report_ipam(survey));
    CHECK_THAT(line_with("AddressRange roce", table), Names("deleted"));
    CHECK_THAT(line_with("AddressRange old", table), Names("ignored"));
    CHECK_THAT(line_with("ignored: AddressRange old", table), Names("delete it"));
    CHECK_THAT(line_with("IPPool", table), Names("pools", "draining"));
    CHECK_THAT(line_with("10.0.0.0/28", table), Names("n1", "node-gone"));
}
