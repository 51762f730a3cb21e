// What an ipvlan child needs of its siblings. The plan tells: the kernel need not know ipvlan.
#include "stage.hpp"

#include "steps/child_link.hpp"
#include "steps/recorded.hpp"
#include "support/names.hpp"

#include <catch2/catch.hpp>

using namespace rdmanet;
using namespace rdmanet::attach;
using attach::test::Stage;
using rdmanet::test::Names;

namespace {

constexpr const char* kL2 = R"("attach": "ipvlan", "master": "parent0", "mode": "l2", "rdma": false)";

/// Another attachment with a child of "parent0" in this mode. Its pod is the stage's own.
state::AttachmentRecord sibling_of(Stage& stage, const std::string& mode) {
    state::AttachmentRecord other = stage.record();
    other.key.container_id = "c2";
    other.phase = state::Phase::attached;
    other.steps = {to_record(CreateLink{
        .child = {.kind = "ipvlan",
                  .mode = mode,
                  .parent = "parent0",
                  .parent_ifindex = kernel::find_link(stage.host(), kernel::test::ifname("parent0")).value().ifindex},
        .ifname = "net1"})};
    return other;
}

} // namespace

TEST_CASE("an ipvlan child is planned beside children of its mode, and refused beside others of living pods") {
    NEEDS_KIND("veth");
    Stage stage(kL2);
    stage.plan();
    REQUIRE(stage.record().child() != nullptr);
    const std::string own_mode = stage.record().child()->mode;
    const state::AttachmentStore& records = stage.context().attachment.records;
    records.save(sibling_of(stage, own_mode));
    CHECK_NOTHROW(stage.plan());
    records.save(sibling_of(stage, "ipvlan mode l3"));
    CHECK_THROWS_WITH(stage.plan(), Names("\"parent0\"", "ipvlan mode l3", own_mode, "\"c2\""));
    state::AttachmentRecord dead = sibling_of(stage, "ipvlan mode l3");
    dead.boot_id = "an earlier boot";
    records.save(dead);
    CHECK_NOTHROW(stage.plan());
}

TEST_CASE("ADD locks the parent of an ipvlan child, and no other parent") {
    NEEDS_KIND("veth");
    Stage ipvlan(kL2);
    const auto parent = find_parent_to_lock(ipvlan.context());
    REQUIRE(parent);
    CHECK(parent->name == "parent0");
    CHECK(parent->ifindex == kernel::find_link(ipvlan.host(), kernel::test::ifname("parent0")).value().ifindex);
}

TEST_CASE("macvlan children each have their own mode, so ADD locks no parent") {
    NEEDS_KIND("veth");
    const Stage macvlan(R"("master": "parent0", "rdma": false)");
    CHECK_FALSE(find_parent_to_lock(macvlan.context()));
}
