// Reconciling of leases in etcd.
#include "reconcile_fixture.hpp"

#include <rdmanet/cluster/etcd_store.hpp>
#include <rdmanet/etcd/client.hpp>

#include <catch2/catch.hpp>

#include <fstream>

using namespace rdmanet;
using namespace rdmanet::cluster;
using namespace rdmanet::cluster::test;
using Catch::Matchers::Contains;

namespace {

/// Nodes that keep their leases in the API server's own etcd, which is there anyway.
class EtcdLeftovers : public Leftovers {
public:
    [[nodiscard]] etcd::Client connect_to_etcd() const {
        std::ifstream ports(*cluster_directory() + "/ports");
        std::string of_api;
        std::string of_etcd;
        ports >> of_api >> of_etcd;
        return {etcd::read_access({.endpoints = {"http://127.0.0.1:" + of_etcd}}), etcd::Memory(),
                http::Limits{.connect = 60s, .request = 60s}};
    }
    [[nodiscard]] std::unique_ptr<ipam::Store> store_of(const std::string& machine_id,
                                                        const std::string& its_boot) const {
        return make_etcd_store(connect_to_etcd(), {.prefix = prefix_of_keys,
                                                   .machine_id = machine_id,
                                                   .node_name = "node-" + machine_id,
                                                   .boot_id = its_boot,
                                                   .spaces = {space},
                                                   .before_claim = {},
                                                   .warn = {}});
    }
    /// Takes 10.0.0.NUMBER.
    [[nodiscard]] ipam::Owner lease(ipam::Store& store, int number, const std::string& pod, const std::string& uid) {
        ipam::Owner who = owner("c" + std::to_string(number), pod);
        who.pod_namespace = space;
        who.pod_uid = uid;
        who.boot_id = boot;
        const std::string address = "10.0.0." + std::to_string(number);
        CHECK(cluster::test::text_of(store.reserve(who, {wanting("10.0.0.0/24", address)}, soon())) == address + "/24");
        return who;
    }
    const std::string prefix_of_keys = "/rdmanet/" + space;
    const std::string boot = space + "-boot-a";
};

} // namespace

TEST_CASE_METHOD(EtcdLeftovers, "leases in etcd are freed if this cluster has the node, by the same rules", "[etcd]") {
    if (!is_there()) return;
    etcd = [this] { return EtcdToReconcile{.client = connect_to_etcd(), .prefix = prefix_of_keys}; };
    const std::string node = make_ready_node("a", "False");
    const auto here = store_of("machine-" + node, boot);
    const auto elsewhere = store_of("of-another-cluster", "b");
    const ipam::Owner alive = lease(*here, 1, "alive", make_pod("alive"));
    const ipam::Owner gone = lease(*here, 2, "gone", "uid-1");
    (void)lease(*elsewhere, 3, "gone", "uid-2");
    ipam::Owner nameless = owner("c4", "");
    nameless.pod_namespace.clear();
    CHECK(here->reserve(nameless, {wanting("10.0.0.0/24", "10.0.0.4")}, soon()).index() == 0);

    const std::string others = "10.0.0.3 no Node has its machine id of-another-cluster";
    CHECK(kept(run()) == "10.0.0.2 its node " + node + " is not ready, " + others);
    set_ready(node, "True");
    const Reconciled result = run();
    CHECK(result.failure.empty());
    CHECK(freed(result) == "10.0.0.2 pod-uid");
    CHECK(kept(result) == others);
    CHECK(result.foreign == 1);
    CHECK(here->find(gone.key, soon()).empty());
    CHECK(here->find(alive.key, soon()).size() == 1);
    CHECK(here->usage(claim("10.0.0.0/24"), soon()).leases == 3);

    SECTION("a lease that is given anew between the looks is another one") {
        const ipam::Owner again = lease(*here, 2, "gone", "uid-1");
        const Reconciled second = run({}, [&, is_new = false](const std::string& request) mutable {
            if (request == kClock && !std::exchange(is_new, true)) {
                (void)here->release(again.key, soon());
                (void)lease(*here, 2, "gone", "uid-1");
            }
            return Answer::passes;
        });
        CHECK(freed(second).empty());
        CHECK(kept(second) == "10.0.0.2 it was not so at the first look, " + others);
    }
}

TEST_CASE_METHOD(EtcdLeftovers, "an etcd that is away keeps nothing in the API server from being freed", "[etcd]") {
    if (!is_there()) return;
    etcd = [this] {
        return EtcdToReconcile{.client = {etcd::read_access({.endpoints = {"http://127.0.0.1:1"}}), etcd::Memory(),
                                          http::Limits{.connect = 1s, .request = 1s}},
                               .prefix = prefix_of_keys};
    };
    make_pool("{\"1\":" + record("a", ref("gone")) + "}");
    const Reconciled result = run();
    CHECK_THAT(result.failure, Contains("127.0.0.1:1"));
    CHECK(freed(result) == "10.0.0.1 pod-name");
    CHECK(allocations().empty());
}
