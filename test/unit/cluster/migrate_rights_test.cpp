// `rdmanet ipam migrate` as a person who has just the rights of conf-examples/cluster-operator.yaml, or all but one.
#include "migrate_fixture.hpp"
#include "role.hpp"

#include "blocks/objects.hpp"

#include <catch2/catch.hpp>

using namespace rdmanet;
using namespace rdmanet::cluster;
using namespace rdmanet::cluster::test;

namespace {

constexpr const char* kRdmanet = "rdmanet.cni";
constexpr const char* kWhereabouts = "whereabouts.cni.cncf.io";

/// Those of ClusterRole rdmanet-migrate.
const std::vector<Right> kRightsOfMoves = {{kRdmanet, "addressranges", "get"},
                                           {kRdmanet, "addressranges", "list"},
                                           {kRdmanet, "addressranges", "create"},
                                           {kRdmanet, "addressranges", "patch"},
                                           {kRdmanet, "addressranges", "delete"},
                                           {kRdmanet, "addressblocks", "list"},
                                           {kWhereabouts, "ippools", "get"},
                                           {kWhereabouts, "ippools", "list"},
                                           {kWhereabouts, "ippools", "create"},
                                           {kWhereabouts, "ippools", "patch"},
                                           {kWhereabouts, "overlappingrangeipreservations", "get"},
                                           {"k8s.cni.cncf.io", "network-attachment-definitions", "list"},
                                           {"", "nodes", "list"}};

/// ClusterRole rdmanet-migrate for the user "limited", as long as it lives.
class BoundToExample {
public:
    explicit BoundToExample(kube::Api& admin) : admin_(admin) {
        const auto made =
            admin.create(kBindings,
                         R"({"metadata":{"name":")" + name_ +
                             R"("},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole",)"
                             R"("name":"rdmanet-migrate"},"subjects":[{"apiGroup":"rbac.authorization.k8s.io",)"
                             R"("kind":"User","name":"limited"}]})",
                         soon());
        uid_ = std::get<kube::Object>(made).content.root().at("metadata").at("uid").string();
    }
    BoundToExample(const BoundToExample&) = delete;
    BoundToExample& operator=(const BoundToExample&) = delete;
    ~BoundToExample() { (void)admin_.remove(kBindings + "/" + name_, {.uid = uid_, .resource_version = {}}, soon()); }

private:
    inline static const std::string kBindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
    kube::Api& admin_;
    std::string name_ = own_space();
    std::string uid_;
};

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
        return moved_while_a_pod_starts(user);
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
};

} // namespace

TEST_CASE_METHOD(ClusterFixture, "migrating works with the example's rights, and names each that is taken away") {
    if (!is_there()) return;
    const auto admin = connect("admin");
    {
        const BoundToExample example(*admin);
        CHECK(comes_true([] { return MoveTry().refusal("limited").empty(); }));
    }
    check_each_right(*admin, kRightsOfMoves, [] { return MoveTry().refusal("limited"); });
}
