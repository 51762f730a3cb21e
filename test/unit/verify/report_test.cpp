#include "peer_checks.hpp"

#include <rdmanet/base/ip_address.hpp>
#include <rdmanet/verify/report.hpp>

#include <catch2/catch.hpp>

using namespace rdmanet::verify;
using namespace rdmanet;
using Catch::Matchers::Contains;

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

namespace {

Endpoint an_end(const char* pod, const char* address) {
    return {.pod = pod, .interface = "net1", .address = base::IpAddress::parse(address)};
}

/// The only check of two ends that cannot reach each other.
Check the_failure(const Endpoint& here, const Endpoint& peer) {
    const std::vector<Check> checks = check_peer(here, peer);
    REQUIRE(checks.size() == 1);
    CHECK(checks.front().id == "peer");
    CHECK(checks.front().outcome == Outcome::failure);
    return checks.front();
}

} // namespace

TEST_CASE("of two families, the end without IPv4 is named, at both ends") {
    const Endpoint lost = an_end("shop/till", "fe80::1");
    const Endpoint whole = an_end("shop/desk", "10.72.0.2");
    const Endpoint v6 = an_end("shop/safe", "fd00::3");
    const char* what =
        "shop/till net1 has no GID of an IPv4 address, only of fe80::1; shop/desk net1 has one of 10.72.0.2";
    CHECK(the_failure(lost, whole).what == what);
    CHECK(the_failure(whole, lost).what == what);
    CHECK_THAT(the_failure(whole, lost).fix, Contains("delete the pod shop/till"));
    CHECK_THAT(the_failure(whole, v6).fix, Contains("shop/safe net1 needs an IPv4 range") && !Contains("delete"));
}
