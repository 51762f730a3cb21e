// Nodes in etcd: which machine has which name, what a boot leaves behind, and what a person may say about a node.
#include "etcd_case.hpp"

#include <rdmanet/cluster/etcd_nodes.hpp>

#include <catch2/catch.hpp>

#include <set>

using namespace rdmanet;
using namespace rdmanet::cluster;
using namespace rdmanet::cluster::test;
using Catch::Matchers::Contains;

namespace {

class NodeCase : public EtcdCase {
public:
    static constexpr const char* kRange = "10.0.0.0/24";

    [[nodiscard]] std::unique_ptr<ipam::Store> node(const std::string& machine, const std::string& name,
                                                    const std::string& boot,
                                                    const std::string& endpoint = endpoints_of("one").front()) {
        EtcdOptions options = etcd_options(prefix);
        options.machine_id = machine;
        options.node_name = name;
        options.boot_id = boot;
        options.warn = [this](const std::string& text) { warnings.push_back(text); };
        return make_etcd_store(connect_to({.endpoints = {endpoint}}), options);
    }
    static ipam::Owner pod(const std::string& name, const std::string& boot) {
        ipam::Owner who = owner(name, name);
        who.boot_id = boot;
        return who;
    }
    /// An address for a pod, or why there is none.
    static std::string take(ipam::Store& store, const std::string& name, const std::string& boot) {
        return why_not(store, pod(name, boot), {claim(kRange)});
    }
    /// "POD@NODE" of each lease; NODE is empty for this one.
    static std::set<std::string> leases_in(ipam::Store& store) {
        std::set<std::string> leases;
        for (const auto& lease : store.list_all(soon()))
            leases.insert(lease.owner.pod_name + "@" + lease.owner.other_node);
        return leases;
    }
    [[nodiscard]] EtcdNodes nodes(const std::string& endpoint = endpoints_of("one").front()) const {
        return {connect_to({.endpoints = {endpoint}}), prefix};
    }
    [[nodiscard]] std::set<std::string> release_node(const std::string& machine, const std::string& name) const {
        std::set<std::string> released;
        nodes().release(
            machine, name, [&](const ipam::Lease& lease) { released.insert(lease.address.to_string()); }, soon());
        return released;
    }
};

} // namespace

TEST_CASE_METHOD(NodeCase, "a node that was started anew gives back what it had, and nobody else's", "[etcd]") {
    if (!is_there()) return;
    const auto before = node("m1", "n1", "b1");
    (void)before->reserve(pod("a", "b1"), {claim(kRange), claim("fd00::/64")}, soon());
    (void)before->reserve(pod("b", "b1"), {claim(kRange)}, soon());
    const auto beside = node("m2", "n2", "b2");
    (void)beside->reserve(pod("c", "b2"), {claim(kRange)}, soon());

    const auto after = node("m1", "n1", "b3");
    CHECK_THAT(take(*after, "d", "b3"), Contains("granted"));
    CHECK_THAT(warnings.at(0), Contains("3 addresses"));
    CHECK(leases_in(*after) == std::set<std::string>{"c@n2", "d@"});
    CHECK(after->list_local(claim(kRange), std::nullopt, 9, soon()).size() == 1);
    CHECK_THAT(take(*node("m1", "n9", "b9"), "f", "b9"),
               Contains("permanent") && Contains("machine id m1 is that of node \"n1\"") && Contains("\"n9\"") &&
                   Contains("/etc/machine-id") && Contains("`rdmanet ipam rename-node n1 n9`"));
    CHECK(after->find_predecessors(owner("new", "c"), soon()).empty()); // it is on another node
}

TEST_CASE_METHOD(NodeCase, "a boot that comes back proves two machines, and then nothing is given back", "[etcd]") {
    if (!is_there()) return;
    const auto one = node("m1", "n1", "b1");
    (void)take(*one, "a", "b1");
    const auto other = node("m1", "n1", "b2"); // as a restart of the first one would look
    (void)take(*other, "b", "b2");
    const std::string why = take(*one, "c", "b1");
    CHECK_THAT(why, Contains("permanent") && Contains("machine id m1") && Contains("\"n1\"") && Contains("boot b1") &&
                        Contains("boot b2") && Contains("/etc/machine-id") &&
                        Contains("`rdmanet ipam release --node n1`"));
    CHECK(take(*one, "c", "b1") == why);
    CHECK_THAT(take(*other, "d", "b2"), Contains("granted")); // its pods have their addresses for certain
    // Either of the two, started anew.
    CHECK_THAT(take(*node("m1", "n1", "b3"), "e", "b3"), Contains("two machines") && Contains("boot b3"));
    CHECK(leases_in(*other) == std::set<std::string>{"b@", "d@"});
    CHECK(one->release(pod("a", "b1").key, soon()).empty());
    CHECK(nodes().list(soon()).at(0).returned_boot_id == "b1");

    CHECK(release_node("m1", "n1").size() == 2); // one of them has another machine id by now, the other one restarts
    CHECK_THAT(take(*node("m1", "n1", "b4"), "f", "b4"), Contains("granted"));
    CHECK(leases_in(*node("m1", "n1", "b4")) == std::set<std::string>{"f@"});
}

TEST_CASE_METHOD(NodeCase, "boots that were replaced are remembered, the latest ones", "[etcd]") {
    if (!is_there()) return;
    for (int boot = 1; boot <= 40; ++boot)
        CHECK_THAT(take(*node("m1", "n1", std::to_string(boot)), "a", std::to_string(boot)), Contains("granted"));
    const auto entries = entries_below(prefix + "/@nodes/m1");
    CHECK(entries.size() == 1); // the pod's; the node's own key is next
    CHECK_THAT(take(*node("m1", "n1", "9"), "b", "9"), Contains("two machines"));
    CHECK(leases_in(*node("m1", "n1", "40")) == std::set<std::string>{"a@"});
}

TEST_CASE_METHOD(NodeCase, "what a boot left behind goes back, although etcd does not answer", "[etcd]") {
    if (!is_there()) return;
    const Fate fate = GENERATE(Fate::dropped, Fate::answer_lost);
    const int lost = GENERATE(range(0, 5)); // the fence, what is removed, the new boot, the claim
    const auto before = node("m1", "n1", "b1");
    for (const char* name : {"a", "b", "c"}) (void)take(*before, name, "b1");
    std::atomic<int> changes{0};
    const auto etcd = behind([&](const std::string& request) {
        const bool is_change =
            request.find("request_put") != std::string::npos || request.find("request_delete") != std::string::npos;
        return is_change && changes++ == lost ? fate : Fate::answered;
    });
    const auto after = node("m1", "n1", "b2", etcd->endpoint());
    CHECK_THAT(take(*after, "d", "b2"), Contains("granted"));
    CHECK(leases_in(*after) == std::set<std::string>{"d@"});
    (void)after->release(pod("d", "b2").key, soon());
    CHECK(keys_below(prefix).empty());
}

TEST_CASE_METHOD(NodeCase, "a claim of an earlier boot that reaches etcd while the node comes back has no effect",
                 "[etcd]") {
    if (!is_there()) return;
    (void)take(*node("m1", "n1", "b1"), "a", "b1");
    const auto slow = behind([](const std::string& text) { return is_claim(text) ? Fate::kept_back : Fate::answered; });
    CHECK_THROWS_AS(node("m1", "n1", "b1", slow->endpoint())
                        ->reserve(pod("late", "b1"), {wanting(kRange, "10.0.0.77")}, base::Deadline::in(500ms)),
                    base::Error);
    bool has_listed = false;
    bool has_arrived = false;
    const auto etcd = behind([&](const std::string& text) {
        if (has_listed && !std::exchange(has_arrived, true))
            CHECK_THAT(slow->deliver_late(), Contains("200 OK") && !Contains("succeeded"));
        has_listed = has_listed || text.find("range_end") != std::string::npos;
        return Fate::answered;
    });
    CHECK_THAT(take(*node("m1", "n1", "b2", etcd->endpoint()), "b", "b2"), Contains("granted"));
    CHECK(has_arrived);
    CHECK(leases_in(*node("m1", "n1", "b2")) == std::set<std::string>{"b@"});
}

TEST_CASE_METHOD(NodeCase, "a node whose keys somebody removed by hand loses no address", "[etcd]") {
    if (!is_there()) return;
    const auto before = node("m1", "n1", "b1");
    (void)before->reserve(pod("a", "b1"), {wanting(kRange, "10.0.0.5")}, soon());
    SECTION("the node's own key") {
        remove_key(prefix + "/@nodes/m1");
    }
    SECTION("the address") {
        remove_key(prefix + "/-/a/010.000.000.005");
    }
    SECTION("the owner") {
        remove_key(prefix + "/-/o/net/a/net1/0");
    }
    const auto after = node("m1", "n1", "b2");
    CHECK_THAT(take(*after, "b", "b2"), Contains("granted"));
    (void)after->release(pod("b", "b2").key, soon());
    CHECK(keys_below(prefix).empty());
}

TEST_CASE_METHOD(NodeCase, "a lease whose owner's key somebody removed by hand can be reclaimed", "[etcd]") {
    if (!is_there()) return;
    const auto store = node("m1", "n1", "b1");
    (void)store->reserve(pod("a", "b1"), {wanting(kRange, "10.0.0.5")}, soon());
    remove_key(prefix + "/-/o/net/a/net1/0");
    CHECK(text_of(store->reclaim(store->list_all(soon()), soon())) == "10.0.0.5/24");
    CHECK(keys_below(prefix).empty());
}

TEST_CASE_METHOD(NodeCase, "a person releases what a node has that is gone", "[etcd]") {
    if (!is_there()) return;
    const auto gone = node("m1", "n1", "b1");
    for (int number = 0; number < 70; ++number) (void)take(*gone, std::to_string(number), "b1");
    const auto beside = node("m2", "n2", "b2");
    (void)take(*beside, "b", "b2");
    std::size_t count = 0;
    for (const EtcdNodeState& one : nodes().list(soon())) {
        CHECK(one.boot_id == (one.name == "n1" ? "b1" : "b2"));
        CHECK(one.machine_id == (one.name == "n1" ? "m1" : "m2"));
        count += one.leases.size();
    }
    CHECK(count == 71);
    CHECK(release_node("m1", "n9").empty());
    CHECK(release_node("m2", "n1").empty());

    SECTION("all of them") {
        CHECK(release_node("m1", "n1").size() == 70);
    }
    SECTION("also where somebody removed or wrote keys by hand") {
        const std::string key = prefix + "/@nodes/m1/default/7/net/net1/7/-/0";
        remove_key(key); // only the address's own key leads to the lease
        (void)release_node("m1", "n1");
    }
    SECTION("also where etcd does not answer") {
        std::atomic<int> changes{0};
        const auto etcd = behind([&](const std::string& request) {
            return request.find("request_delete") == std::string::npos || changes++ % 3 != 0 ? Fate::answered
                                                                                             : Fate::answer_lost;
        });
        std::set<std::string> released;
        nodes(etcd->endpoint())
            .release(
                "m1", "n1", [&](const ipam::Lease& lease) { released.insert(lease.address.to_string()); }, soon());
        CHECK(released.size() == 70);
    }
    CHECK(leases_in(*beside) == std::set<std::string>{"b@"});
    CHECK(keys_below(prefix).size() == 3);
    // It was not gone: its pods use addresses that others may get now.
    CHECK_THAT(take(*gone, "new", "b1"),
               Contains("permanent") && Contains("boot b1 of node \"n1\" was released") && Contains("restart"));
    CHECK_THAT(take(*node("m1", "n1", "b3"), "new", "b3"), Contains("granted"));
}

TEST_CASE_METHOD(NodeCase, "a node that has another name keeps what its pods have", "[etcd]") {
    if (!is_there()) return;
    const auto before = node("m1", "n1", "b1");
    for (int number = 0; number < 40; ++number) (void)take(*before, std::to_string(number), "b1");
    (void)take(*node("m2", "n2", "b2"), "b", "b2");
    CHECK_THROWS_WITH(nodes().rename("m2", "n1", "n3", soon()), Contains("machine id m2 is that of node \"n2\""));
    CHECK(nodes().rename("m1", "n1", "n3", soon()) == 40);
    CHECK(nodes().rename("m1", "n1", "n3", soon()) == 0);
    CHECK_THAT(take(*before, "new", "b1"), Contains("is that of node \"n3\""));
    const auto renamed = node("m1", "n3", "b1");
    CHECK(renamed->list_local(claim(kRange), std::nullopt, 99, soon()).size() == 40);
    CHECK(leases_in(*renamed).contains("7@"));
    CHECK_THAT(take(*renamed, "new", "b1"), Contains("granted"));
    CHECK(renamed->release(pod("7", "b1").key, soon()).size() == 1);
    const auto after = node("m1", "n3", "b4");
    CHECK_THAT(take(*after, "next", "b4"), Contains("granted"));
    CHECK(leases_in(*after) == std::set<std::string>{"b@n2", "next@"});
}
