#include "peer_checks.hpp"

#include <rdmanet/base/ip_address.hpp>

#include <catch2/catch.hpp>

using namespace rdmanet;
using namespace rdmanet::verify;
using Catch::Matchers::Contains;

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
