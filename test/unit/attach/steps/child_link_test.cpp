// A child of a parent, from its plan to its revert.
#include "stage.hpp"

#include "steps/child_link.hpp"
#include "steps/recorded.hpp"
#include "support/names.hpp"

#include <rdmanet/kernel/address.hpp>
#include <rdmanet/kernel/route.hpp>

#include <catch2/catch.hpp>

using namespace rdmanet;
using namespace rdmanet::attach;
using attach::test::addresses;
using attach::test::Stage;
using rdmanet::test::Names;

namespace {

constexpr const char* kMacvlan = R"("master": "parent0", "mtu": 1400, "rdma": false)";

} // namespace

TEST_CASE("a macvlan child is described, applied, checked and reverted") {
    NEEDS_KIND("macvlan");
    Stage stage(kMacvlan);
    stage.plan();
    CHECK_THAT(stage.described().at(0), Names("net1", "macvlan", "bridge", "parent0", "MTU 1400", "MAC"));
    CHECK_FALSE(stage.link());
    REQUIRE(stage.record().steps.size() == 1);

    stage.apply(addresses({"10.9.0.2/24", "fd09::2/64"}));
    const auto link = stage.link();
    REQUIRE(link);
    CHECK(link->kind == "macvlan");
    CHECK(link->mtu == 1400);
    CHECK(link->is_up());
    CHECK(find_step<CreateLink>(stage.record()).value().ifindex == link->ifindex);
    CHECK(stage.record().child()->mac == link->hardware_address_text());
    CHECK(stage.record().wanted->mac == link->hardware_address_text());
    CHECK(stage.difference().empty());

    stage.revert();
    CHECK_FALSE(stage.link());
    stage.revert(); // safe to repeat
}

TEST_CASE("what a child lacks is a difference, and what others added is not") {
    NEEDS_KIND("macvlan");
    Stage stage(kMacvlan);
    stage.plan();
    stage.apply(addresses({"10.9.0.2/24"}));
    const unsigned ifindex = stage.link().value().ifindex;
    kernel::add_address(stage.pod(), ifindex, base::IpPrefix::parse("10.9.0.3/24").value(), {});
    CHECK(stage.difference().empty());
    kernel::change_link(stage.pod(), ifindex, {.mtu = 1300});
    CHECK(stage.difference().empty());
    kernel::change_link(stage.pod(), ifindex, {.state = kernel::AdminState::down});
    CHECK_THAT(stage.difference(), Names("net1", "down"));
    kernel::remove_link(stage.pod(), ifindex);
    CHECK_THAT(stage.difference(), Names("net1", "gone"));
}

TEST_CASE("reverting a child that was never made leaves another interface of that name alone") {
    NEEDS_KIND("macvlan");
    Stage stage(kMacvlan);
    stage.plan();
    kernel::add_link(stage.host(), {.name = kernel::test::ifname("net1"),
                                    .parent_ifindex = stage.record().child()->parent_ifindex,
                                    .parent_name = "parent0",
                                    .netns = &stage.context().pod.netns,
                                    .kind = kernel::Macvlan{},
                                    .mac = base::MacAddress::parse("02:11:22:33:44:55")});
    stage.revert();
    CHECK(stage.link());
}

TEST_CASE("reverting removes a child that was renamed in the pod") {
    NEEDS_KIND("macvlan");
    Stage stage(kMacvlan);
    stage.plan();
    stage.apply();
    const unsigned ifindex = stage.link().value().ifindex;
    kernel::change_link(stage.pod(), ifindex,
                        {.name = kernel::test::ifname("other0"), .state = kernel::AdminState::down});
    stage.revert();
    CHECK_FALSE(kernel::find_link(stage.pod(), ifindex));
}

TEST_CASE("a parent that is down is refused before anything changes") {
    NEEDS_KIND("macvlan");
    Stage stage(kMacvlan);
    const auto parent = kernel::find_link(stage.host(), kernel::test::ifname("parent0")).value();
    kernel::change_link(stage.host(), parent.ifindex, {.state = kernel::AdminState::down});
    CHECK_THROWS_WITH(stage.plan(), Names("parent0", "down", "`ip link set parent0 up`"));
}
