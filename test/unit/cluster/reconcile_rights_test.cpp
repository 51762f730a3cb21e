// The rights with which reconciling works.
#include "reconcile_fixture.hpp"
#include "role.hpp"

#include <catch2/catch.hpp>

using namespace rdmanet;
using namespace rdmanet::cluster;
using namespace rdmanet::cluster::test;

namespace {

class Rights : public Leftovers {
public:
    /// Everything that is to be freed, and a successor that takes one record over in the middle. What was refused.
    std::string refusal_of_everything() {
        Relay relay("limited", space);
        return refusal_of_everything(relay);
    }
    /// As `relay` asks, in namespace `space`.
    std::string refusal_of_everything(Relay& relay) {
        const std::string network = own_space();
        const std::string pool = network + "-10.0.0.0-24";
        create(objects("ippools"),
               R"({"apiVersion":"whereabouts.cni.cncf.io/v1alpha1","kind":"IPPool","metadata":{"name":")" + pool +
                   R"("},"spec":{"range":"10.0.0.0/24","allocations":{"1":)" + record("a", ref("p")) + "}}}");
        make_reservation(network + "-10.0.0.1", ref("p"));
        BlockObject block{.space = space,
                          .range = prefix("10.9.0.0/16"),
                          .block = prefix("10.9." + std::to_string(++count_ % 256) + ".0/28"),
                          .node = {.name = "gone", .uid = space, .machine_id = "m", .boot_id = space},
                          .lease_file = "f"};
        create(kBlocksPath, block.to_text());
        relay.decide([&, asked = 0](const std::string& request) mutable {
            if (request == kClock && ++asked == 2) relay.clock_ahead = kBlocksApart.count();
            if (request == "PATCH " + objects("ippools/" + pool))
                patch(objects("ippools/" + pool),
                      R"([{"op":"replace","path":"/spec/allocations/1/id","value":"successor"}])");
            return Fate::passes;
        });
        const auto api = relay.connect();
        return reconcile(*api, {}, soon()).failure;
    }

    [[nodiscard]] std::string token_of(const std::string& account) {
        const auto made =
            admin->create("/api/v1/namespaces/kube-system/serviceaccounts/" + account + "/token",
                          R"({"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{}})", soon());
        return std::get<kube::Object>(made).content.root().at("status").at("token").string();
    }

private:
    int count_ = 0;
};

} // namespace

TEST_CASE_METHOD(Rights, "reconciling works with the example's rights, and names each that is taken away") {
    if (!is_there()) return;
    {
        // In the example's namespace.
        const std::string own = std::exchange(space, "kube-system");
        Relay example("limited", "kube-system");
        example.use_token(token_of("rdmanet-reconcile"));
        CHECK(refusal_of_everything(example).empty());
        space = own;
    }
    check_each_right(*admin, rights_of_example("cronjob-reconcile.yaml"), [this] { return refusal_of_everything(); });
}
