// Ranges of networks beside the subnets of a host. The kernel's own routes are in test/e2e/doctor_networks_test.cpp.
#include "network_ranges.hpp"

#include <rdmanet/cni/net_conf.hpp>

#include <catch2/catch.hpp>

#include <string>

namespace rdmanet::doctor {
namespace {

using Catch::Contains;

config::Config network_with(const std::string& range) {
    const std::string text = R"({"cniVersion": "1.0.0", "name": "roce", "type": "rdmanet", "master": "rail0", )"
                             R"("ipam": {"type": "rdmanet", "range": ")" +
                             range + R"("}})";
    return config::parse_config(cni::parse_net_conf(text, cni::Strictness::strict), "");
}

kernel::Link link_named(const std::string& name, unsigned ifindex) {
    kernel::Link link;
    link.name = name;
    link.ifindex = ifindex;
    return link;
}

kernel::Route connected(const std::string& subnet, unsigned ifindex) {
    kernel::Route route{.destination = base::IpPrefix::parse(subnet).value()};
    route.ifindex = ifindex;
    return route;
}

/// The parent is rail0, and rail1 is its neighbour.
std::string says(const std::string& range, const std::vector<kernel::Route>& routes) {
    const std::vector<kernel::Link> links = {link_named("rail0", 2), link_named("rail1", 3)};
    const auto misfit = find_range_misfit(network_with(range), routes, links, links.front());
    return misfit ? misfit->message() : std::string();
}

} // namespace

TEST_CASE("a range in the subnet of another interface may be a fault") {
    CHECK(says("10.10.0.0/16", {connected("10.11.1.0/24", 3)}).empty());
    CHECK_THAT(says("10.10.0.0/16", {connected("10.10.1.0/24", 3)}),
               Contains("10.10.0.0/16 overlaps 10.10.1.0/24 of interface rail1") && Contains("may not reach") &&
                   Contains("unless rail1 and rail0 are in one network"));
    CHECK_THAT(says("10.10.1.0/24", {connected("10.10.0.0/16", 3)}), Contains("rail1"));
}

TEST_CASE("rails in one network have one subnet") {
    const auto first = connected("10.10.0.0/16", 2);
    const auto second = connected("10.10.0.0/16", 3);
    CHECK(says("10.10.0.0/16", {first, second}).empty());
    CHECK(says("10.10.0.0/16", {second, first}).empty());
    CHECK(says("10.10.7.0/24", {second, first}).empty());
}

TEST_CASE("routes that say nothing about an interface's own subnet do not count") {
    auto behind_gateway = connected("10.10.0.0/16", 3);
    behind_gateway.gateway = base::IpAddress::parse("10.0.0.1").value();
    CHECK(says("10.10.0.0/16", {behind_gateway, connected("0.0.0.0/0", 3), connected("10.10.0.0/16", 9)}).empty());
    CHECK(says("fe80::/64", {connected("fe80::/64", 3)}).empty());
}

} // namespace rdmanet::doctor
