// A range does not leave the pools while whereabouts itself gives its addresses.
#include "migrate_fixture.hpp"

#include <catch2/catch.hpp>

using namespace rdmanet;
using namespace rdmanet::cluster;
using namespace rdmanet::cluster::test;
using Catch::Matchers::Contains;

namespace {

class Writing : public Moves {
public:
    /// Multus' kind of object, which a cluster without Multus does not have.
    void install_networks() {
        const auto made = admin->create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
                                        R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
                "metadata":{"name":"network-attachment-definitions.k8s.cni.cncf.io"},
                "spec":{"group":"k8s.cni.cncf.io","scope":"Namespaced",
                        "names":{"plural":"network-attachment-definitions","singular":"network-attachment-definition",
                                 "kind":"NetworkAttachmentDefinition"},
                        "versions":[{"name":"v1","served":true,"storage":true,
                                     "schema":{"openAPIV3Schema":{"type":"object",
                                               "x-kubernetes-preserve-unknown-fields":true}}}]}})",
                                        soon());
        const auto* refused = std::get_if<kube::Refused>(&made);
        REQUIRE((refused == nullptr || refused->status == 409)); // an earlier case has made it
        while (std::holds_alternative<kube::Refused>(admin->get(kNetworks, soon())))
            http::pause(std::chrono::milliseconds(20));
    }
    /// Returns its path.
    std::string add_network(const std::string& name, const std::string& ipam) {
        json::Writer config;
        config.begin_object().member("type", "macvlan").key("ipam").raw(ipam).end_object();
        json::Writer network;
        network.begin_object().member("apiVersion", "k8s.cni.cncf.io/v1");
        network.member("kind", "NetworkAttachmentDefinition").key("metadata").begin_object();
        network.member("name", name).end_object().key("spec").begin_object();
        network.member("config", config.to_text()).end_object().end_object();
        expect_done(admin->create(kNetworks, network.to_text(), soon()));
        return kNetworks + "/" + name;
    }

    const std::string kNetworks = "/apis/k8s.cni.cncf.io/v1/namespaces/default/network-attachment-definitions";
};

} // namespace

TEST_CASE_METHOD(Writing, "a range does not move while a network of whereabouts has it, or may have it", "[moves]") {
    if (!is_there()) return;
    install_networks();
    REQUIRE(add_to_pool("p1") == "10.0.0.1/26");
    const std::string named = R"("network_name":")" + space + "\"";
    const auto of_whereabouts = [&](const std::string& rest) { return R"({"type":"whereabouts",)" + rest + "}"; };
    for (const std::string& ipam :
         {of_whereabouts(named + R"(,"range":"10.0.0.0/25")"),
          of_whereabouts(named + R"(,"ipRanges":[{"range":"fd00::/64"},{"range":"10.0.0.9-10.0.0.20/24"}])"),
          of_whereabouts(named + R"(,"configuration_path":"/etc/cni/net.d/whereabouts.d/whereabouts.conf")")}) {
        const std::string path = add_network("old", ipam);
        CHECK_THAT(migrate_to("blocks"), Contains("network default/old") && Contains("change \"type\""));
        CHECK(recorded() == "whereabouts");
        delete_object(path);
    }
    const std::string other_space = add_network("other-space", of_whereabouts(R"("range":"10.0.0.0/26")"));
    const std::string other_range = add_network("other-range", of_whereabouts(named + R"(,"range":"10.1.0.0/26")"));
    const std::string of_rdmanet = add_network("new", R"({"type":"rdmanet",)" + named + R"(,"range":"10.0.0.0/26"})");
    CHECK(migrate_to("blocks") == "moved 10.0.0.1-10.0.0.1");
    for (const std::string& path : {other_space, other_range, of_rdmanet}) delete_object(path);
}

TEST_CASE_METHOD(Writing, "a range does not move while whereabouts writes into its pool", "[moves]") {
    if (!is_there()) return;
    REQUIRE(add_to_pool("p1") == "10.0.0.1/26");
    MigrateOptions watching = options_to("blocks");
    watching.pause = std::chrono::seconds(1);
    const std::string pool = kPoolsOfMoves + "/" + space + "-10.0.0.0-26";
    watching.note = [&](const std::string&) {
        patch(pool, R"([{"op":"add","path":"/spec/allocations/9","value":
            {"id":"theirs","podref":"ns/old","ifname":"net1"}}])");
    };
    CHECK_THAT(migrate_by(watching, *admin), Contains("pod \"ns/old\" has just got 10.0.0.9"));
    CHECK(recorded() == "whereabouts");
    watching.note = [&](const std::string&) { CHECK(add_to_pool("p2") == "10.0.0.2/26"); };
    CHECK(migrate_by(watching, *admin) == "moved 10.0.0.1-10.0.0.2 10.0.0.9-10.0.0.9");
}
