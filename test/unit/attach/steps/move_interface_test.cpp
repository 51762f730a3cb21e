// A virtual interface moves into a pod and returns.
#include "stage.hpp"

#include "support/names.hpp"

#include <catch2/catch.hpp>

using namespace rdmanet;
using namespace rdmanet::attach;
using attach::test::Stage;
using rdmanet::test::Names;

namespace {

constexpr const char* kPeer = R"("attach": "host-device", "device": "peer0", "mtu": 1400)";

std::optional<kernel::Link> find_at_home(Stage& stage) {
    return kernel::find_link(stage.host(), kernel::test::ifname("peer0"));
}

} // namespace

TEST_CASE("an end of a veth pair moves into the pod and returns as it was") {
    NEEDS_KIND("veth");
    Stage stage(kPeer);
    const auto before = find_at_home(stage).value();
    kernel::add_altname(stage.host(), before.ifindex, "an-altname-of-peer0");
    stage.plan("peer0");
    CHECK_THAT(stage.described().at(0), Names("peer0", "net1", "MTU 1500", "1400"));
    stage.apply(attach::test::addresses({"10.9.0.2/24"}));
    REQUIRE(stage.link());
    CHECK(stage.link()->mtu == 1400);
    CHECK_FALSE(find_at_home(stage));
    CHECK(stage.difference().empty());
    stage.revert();
    const auto after = find_at_home(stage);
    REQUIRE(after);
    CHECK(after->mtu == before.mtu);
    CHECK(after->mac() == before.mac());
    CHECK(after->is_up() == before.is_up());
    CHECK(after->altnames == std::vector<std::string>{"an-altname-of-peer0"});
    stage.revert(); // safe to repeat
    CHECK(find_at_home(stage));
}

TEST_CASE("reverting a move that never began leaves the interface alone") {
    NEEDS_KIND("veth");
    Stage stage(kPeer);
    stage.plan("peer0");
    stage.revert();
    CHECK(find_at_home(stage)->is_up());
}
