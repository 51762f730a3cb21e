// What `rdmanet verify` prints of a test that two pods have made. The values come from the ports, so only a person's
// view of them is tested here.
#include "support/names.hpp"

#include <rdmanet/ops/verify_report.hpp>

#include <catch2/catch.hpp>

using namespace rdmanet::verify;
using rdmanet::ops::Colours;
using rdmanet::ops::exit_status_of;
using rdmanet::ops::to_text;
using rdmanet::test::Names;

namespace {

Report of_two_nodes() {
    Report report;
    report.here = {
        .node = "n1", .boot_id = "1", .pod = "shop/a", .interface = "net1", .device = "mlx5_3", .port = 1, .rate = 100};
    report.peer = Endpoint{
        .node = "n2", .boot_id = "2", .pod = "shop/b", .interface = "net1", .device = "mlx5_4", .port = 1, .rate = 40};
    report.ping = Ping{.messages = 7, .bytes = 64};
    report.bandwidth = Bandwidth{.rate = 36.5, .size = 65536};
    report.latency = Latency{.typical = 2.04, .slow = 3.5, .size = 8};
    report.expected = 80;
    return report;
}

} // namespace

TEST_CASE("what was measured is printed beside the slower port's speed") {
    const std::string text = to_text(of_two_nodes(), Colours::no);
    CHECK_THAT(text, Names("client", "server", "n1", "shop/b", "mlx5_4/1", "7 messages", "64 bytes", "36.5 Gb/s",
                           "91 % of the port's 40 Gb/s", "65536 bytes", "2.04 us", "3.5 us for 99 %",
                           "proven: RDMA works", "two nodes"));
    Report within = of_two_nodes();
    within.peer = within.here; // only the device with itself, whose speed says nothing
    CHECK_THAT(to_text(within, Colours::no), Names("36.5 Gb/s") && !Names("% of the port's"));
}

TEST_CASE("what limits the verdict is printed with its fix, and the exit status says it") {
    Report report = of_two_nodes();
    report.checks = {{.id = "gid", .subject = "a", .what = "all well"},
                     {.id = "mtu", .subject = "b", .outcome = Outcome::warning, .what = "1024", .fix = "raise it"}};
    report.bandwidth->rate = 20;
    CHECK_THAT(to_text(report, Colours::no),
               Names("warning mtu b: 1024", "fix: raise it", "50 %", "expected 80 %", "limited: RDMA works") &&
                   !Names("all well"));
    CHECK(exit_status_of(of_two_nodes()) == 0);
    CHECK(exit_status_of(report) == 1);
    report.cause = Cause{.stage = "latency", .what = "lost", .fix = "try again"};
    CHECK_THAT(to_text(report, Colours::no), Names("failure latency: lost", "fix: try again", "does not work"));
    CHECK(exit_status_of(report) == 2);
}
