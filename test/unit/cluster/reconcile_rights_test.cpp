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
    /// Everything that is to be freed, a range whose count has changed, and a successor that takes one record over in
    /// the middle. What was refused.
    std::string refusal_of_everything() {
        Relay relay("limited", space);
        return refusal_of_everything(relay);
    }
    /// As `relay` asks, in namespace `space`.
    std::string refusal_of_everything(Relay& relay) {
        const std::string network = own_space();
        const std::string pool = network + "-10.0.0.0-24";
        make_pool("{\"1\":" + record("a", ref("p")) + "}", network + "-");
        make_reservation(network + "-10.0.0.1", ref("p"));
        const std::string number = std::to_string(++count_);
        const std::string range = "10." + number + ".0.0/16";
        const std::string uid = declare(range);
        make_block("10." + number + ".0.0/28", "gone", {.range_uid = uid});
        make_block("10." + number + ".1.0/28", "gone", {.range_uid = uid});
        BlockObject marked = block_of("10." + number + ".0.0/28");
        marked.gone = GoneMark{.since = 1, .why = "gone"};
        patch(path_of("10." + number + ".0.0/28"),
              R"([{"op":"add","path":"/metadata/annotations","value":)" + marked.annotations_text() + "}]");
        relay.decide([&, asked = 0](const std::string& request) mutable {
            if (request == kClock && ++asked == 2) relay.clock_ahead = kApart.count();
            if (request == "PATCH " + objects("ippools/" + pool))
                patch(objects("ippools/" + pool),
                      R"([{"op":"replace","path":"/spec/allocations/1/id","value":"successor"}])");
            return Fate::passes;
        });
        const auto api = relay.connect();
        const std::string failure = reconcile(*api, {}, soon()).failure;
        delete_object(path_of_range(range));
        return failure;
    }

    [[nodiscard]] std::string token_of(const std::string& account) {
        const auto made =
            admin->create("/api/v1/namespaces/kube-system/serviceaccounts/" + account + "/token",
                          R"({"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{}})", soon());
        return std::get<kube::Object>(made).content.root().at("status").at("token").string();
    }

private:
    [[nodiscard]] BlockObject block_of(const std::string& block) {
        const auto outcome = admin->get(path_of(block), soon());
        return BlockObject::parse(std::get<kube::Object>(outcome).content.root());
    }
    int count_ = 0;
};

} // namespace

TEST_CASE_METHOD(Rights, "reconciling works with the example's rights, and names each that is taken away") {
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
