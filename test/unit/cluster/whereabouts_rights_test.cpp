// Store "whereabouts" as a user that has just the rights of conf-examples/cluster-rbac.yaml, or all but one of them.
#include "blocks_fixture.hpp"
#include "role.hpp"

#include <catch2/catch.hpp>

#include <memory>

using namespace rdmanet;
using namespace rdmanet::cluster;
using namespace rdmanet::cluster::test;

namespace {

/// An address space and a node of its own for each try.
class PoolTry : public BlocksFixture {
public:
    explicit PoolTry(const std::string& user) : api_(connect(user)) {
        node_.name = make_node("a", space + "-boot");
        node_.boot_id = space + "-boot";
    }
    PoolTry(const PoolTry&) = delete;
    PoolTry& operator=(const PoolTry&) = delete;
    ~PoolTry() { delete_node(node_.name); }

    /// An address is taken, inherited and given back, after a look at what the boot before has left. What was refused.
    [[nodiscard]] std::string refusal() {
        const std::string range = "10.0.0.0/29";
        std::string warning;
        WhereaboutsStore::Options options;
        options.name_space = "kube-system";
        options.places = {{.space = space, .subnet = prefix(range)}};
        options.node = node_;
        options.warn = [&](const std::string& text) { warning = text; };
        WhereaboutsStore store(*api_, options);
        try {
            (void)cluster_uid(*api_, soon());
            (void)store.give_back_earlier_boot(soon());
            (void)store.reserve(owner("old", "p"), {claim(range)}, soon());
            (void)store.adopt(store.find_predecessors(owner("new", "p"), soon()), owner("new", "p"), soon());
            (void)store.release(owner("new", "p").key, soon());
        } catch (const ipam::StoreError& error) {
            return error.what();
        }
        return warning;
    }
    /// Of a range that is gone, on another node.
    void leave_block() {
        declare("10.0.0.0/29");
        auto other = node("b");
        (void)other->reserve("c", {claim("10.0.0.0/29")});
        undeclare("10.0.0.0/29");
    }

private:
    std::unique_ptr<kube::Api> api_;
    ThisNode node_;
};

/// The pool is free, marked by a range that is gone, or still has a block.
std::string refusal_of_pools(const std::string& user) {
    if (std::string why = PoolTry(user).refusal(); !why.empty()) return why;
    PoolTry other(user);
    other.leave_block();
    const std::string why = other.refusal();
    return why.find("of an AddressRange that is gone") == std::string::npos ? why : std::string();
}

} // namespace

TEST_CASE_METHOD(ClusterFixture,
                 "store whereabouts works with the example's rights, and names each that is taken away") {
    CHECK(refusal_of_pools("rdmanet").empty());
    const auto admin = connect("admin");
    auto rights = rights_of_example("cluster-rbac.yaml");
    // Who may not take turns goes on without (whereabouts_turn_test.cpp).
    CHECK(std::erase_if(rights, [](const auto& right) { return right.resource == "leases"; }) == 3);
    check_each_right(*admin, rights, [] { return refusal_of_pools("limited"); });
}
