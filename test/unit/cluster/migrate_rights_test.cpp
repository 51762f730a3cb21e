// `rdmanet ipam migrate` as a person who has just the rights of conf-examples/cluster-operator.yaml, or all but one.
#include "migrate_fixture.hpp"
#include "role.hpp"

#include "blocks/objects.hpp"

#include <rdmanet/cluster/survey.hpp>

#include <catch2/catch.hpp>

using namespace rdmanet;
using namespace rdmanet::cluster;
using namespace rdmanet::cluster::test;

namespace {

/// A range of its own for each try.
class MoveTry : public Moves {
public:
    /// There and back, beside the pool of a node's slice and a range that is not confirmed, while a pod starts.
    [[nodiscard]] std::string refusal(const std::string& user) {
        create(kPoolsOfMoves,
               R"({"apiVersion":"whereabouts.cni.cncf.io/v1alpha1","kind":"IPPool","metadata":{"name":")" + space +
                   R"(-n1-10.0.0.0-28"},"spec":{"range":"10.0.0.0/28","allocations":{}}})");
        create(kPoolsOfMoves,
               R"({"apiVersion":"whereabouts.cni.cncf.io/v1alpha1","kind":"IPPool","metadata":{"name":")" + space +
                   R"(-10.0.0.0-26"},"spec":{"range":"10.0.0.0/26","allocations":)" +
                   R"({"1":{"id":"theirs","podref":"ns/old","ifname":"net1"}}}})");
        if (const std::string why = moved(user, "blocks"); why != "moved 10.0.0.1-10.0.0.1") return why;
        const RangeObject other{.space = space, .subnet = prefix("10.0.0.0/25"), .store = kInBlocks, .block_size = 16};
        create(kRangesPath, other.to_text());
        if (const std::string why = moved(user, "whereabouts"); why != "moved") return why;
        if (const std::string why = moved_while_a_pod_starts(user); !why.empty()) return why;
        return refusal_to_look(user);
    }

private:
    [[nodiscard]] std::string moved(const std::string& user, const std::string& store) {
        return migrate_to(store, *connect(user));
    }
    [[nodiscard]] std::string moved_while_a_pod_starts(const std::string& user) {
        MigrateOptions watching = options_to("blocks");
        watching.pause = std::chrono::seconds(1);
        watching.note = [&](const std::string&) { (void)add_to_pool("p2"); };
        const std::string said = migrate_by(watching, *connect(user));
        return said == "moved 10.0.0.1-10.0.0.2" ? std::string() : said;
    }
    /// `--to node` looks whether others have addresses (ops/node_move); a whole move is in test/e2e/move_leases_test.cpp.
    [[nodiscard]] std::string refusal_to_look(const std::string& user) try {
        const auto api = connect(user);
        (void)Survey(*api).list_reservations(soon());
        return {};
    } catch (const ipam::StoreError& error) {
        return error.what();
    }
};

} // namespace

TEST_CASE_METHOD(ClusterFixture, "migrating works with the example's rights, and names each that is taken away",
                 "[moves]") {
    if (!is_there()) return;
    const auto admin = connect("admin");
    check_each_right(*admin, rights_of_example("cluster-operator.yaml", "rdmanet-migrate"),
                     [] { return MoveTry().refusal("limited"); });
}
