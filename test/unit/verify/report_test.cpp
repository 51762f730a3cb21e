#include <rdmanet/verify/report.hpp>

#include <catch2/catch.hpp>

using namespace rdmanet::verify;

namespace {

Report a_good_one() {
    Report report;
    report.here = {.node = "n1", .boot_id = "1", .netns_inode = 7, .ifindex = 2, .device = "d", .rate = 100};
    report.peer = Endpoint{.node = "n2", .boot_id = "2", .netns_inode = 8, .ifindex = 2, .device = "d", .rate = 25};
    report.ping = Ping{};
    report.bandwidth = Bandwidth{.rate = 23};
    report.latency = Latency{};
    report.expected = 80;
    return report;
}

} // namespace

TEST_CASE("the scope is how far the ends are apart") {
    Report report = a_good_one();
    CHECK(report.scope() == Scope::network);
    report.peer->boot_id = "1";
    CHECK(report.scope() == Scope::node);
    report.peer->netns_inode = 7;
    CHECK(report.scope() == Scope::device); // whatever the namespace is called
    report.peer->ifindex = 3;
    CHECK(report.scope() == Scope::node);
}

TEST_CASE("the bandwidth is compared with the slower port, but a device with itself need not be fast") {
    Report report = a_good_one();
    CHECK(report.rate() == 25);
    CHECK(report.verdict() == Verdict::proven);
    report.bandwidth->rate = 19.9;
    CHECK(report.verdict() == Verdict::limited);
    report.bandwidth->rate = 20;
    CHECK(report.verdict() == Verdict::proven);
    report.bandwidth->rate = 1;
    report.expected = 0;
    CHECK(report.verdict() == Verdict::proven);
    report = a_good_one();
    report.peer = report.here;
    report.bandwidth->rate = 1;
    CHECK(report.verdict() == Verdict::proven);
}

TEST_CASE("warnings limit the verdict, and anything that is missing fails it") {
    Report report = a_good_one();
    report.checks = {{.id = "mtu", .subject = "a", .outcome = Outcome::warning}};
    CHECK(report.verdict() == Verdict::limited);
    report.checks.push_back({.id = "gid", .subject = "a", .outcome = Outcome::failure});
    CHECK(report.verdict() == Verdict::failed);
    report = a_good_one();
    report.latency.reset();
    CHECK(report.verdict() == Verdict::failed);
    report = a_good_one();
    report.cause = Cause{.stage = "ping", .what = "lost", .fix = ""};
    CHECK(report.verdict() == Verdict::failed);
}
