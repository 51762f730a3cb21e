#include "pools/api.hpp"
#include "relay.hpp"
#include "subnet.hpp"

#include "unit/ipam/fixture.hpp"

#include <rdmanet/json/reader.hpp>

#include <catch2/catch.hpp>

#include <algorithm>

using namespace rdmanet;
using namespace rdmanet::cluster;
using namespace rdmanet::cluster::test;

TEST_CASE_METHOD(Subnet, "an address is in the pool and reserved as whereabouts does it, and leaves nothing behind") {
    CHECK(store->find(owner("a", "p").key, soon()).empty());
    CHECK(store->has_free(claim(kRange), soon()));
    CHECK(pool().empty());

    CHECK(reserve(owner("a", "p"), {claim(kRange)}) == "10.0.0.1/29");
    CHECK(claimed == std::vector<std::string>{"10.0.0.1/29"});
    CHECK(pool() == R"({"allocations":{"1":{"id":"a","ifname":"net1","podref":"default/p"}},"range":"10.0.0.0/29"})");
    CHECK(reservation("10.0.0.1") == R"({"ifname":"net1","podref":"default/p"})");
    CHECK(uid_of("pod", "10.0.0.1") == "uid-of-p"); // whereabouts looks for the pod by its name alone
    CHECK(text_of(store->find(owner("a", "p").key, soon())) == "10.0.0.1/29");
    CHECK(store->usage(claim(kRange), soon()).leases == 1);

    CHECK(release(owner("a", "p")) == "10.0.0.1/29");
    CHECK(pool() == R"({"allocations":{},"range":"10.0.0.0/29"})");
    CHECK(reservation("10.0.0.1").empty());
    CHECK(release(owner("a", "p")).empty());
}

TEST_CASE_METHOD(Subnet, "a node lets the addresses rest that it gave back, unless nothing else is free") {
    const ipam::test::TemporaryDirectory directory;
    auto remembering = options({kRange});
    remembering.state_directory = directory.path();
    store = std::make_unique<WhereaboutsStore>(*api, remembering);
    ipam::Claim resting = claim(kRange);
    resting.cooldown = std::chrono::hours(1);
    ipam::Claim patient = resting;
    patient.resting = ipam::Resting::left_alone;
    CHECK(reserve(owner("a", "p"), {resting}) == "10.0.0.1/29");
    CHECK(reserve(owner("b", "q"), {resting}) == "10.0.0.2/29");
    CHECK(release(owner("a", "p")) == "10.0.0.1/29");
    store = std::make_unique<WhereaboutsStore>(*api, remembering); // another process
    CHECK(reserve(owner("g", "v"), {resting}) == "10.0.0.3/29");
    CHECK(reserve(owner("again", "p"), {resting}) == "10.0.0.1/29"); // the pod that had it
    CHECK(release(owner("again", "p")) == "10.0.0.1/29");
    CHECK(reserve(owner("c", "r"), {wanting(kRange, "10.0.0.1")}) == "10.0.0.1/29");
    CHECK(release(owner("c", "r")) == "10.0.0.1/29");
    CHECK(release(owner("b", "q")) == "10.0.0.2/29");
    for (const char* left : {"10.0.0.4/29", "10.0.0.5/29", "10.0.0.6/29"})
        CHECK(reserve(owner(left, left), {patient}) == left);
    CHECK(reserve(owner("d", "s"), {patient}) == "exhausted");
    CHECK_FALSE(store->has_free(patient, soon()));
    CHECK(store->has_free(resting, soon()));
    CHECK(reserve(owner("d", "s"), {resting}) == "10.0.0.1/29");
    CHECK(reserve(owner("e", "t"), {claim(kRange)}) == "10.0.0.2/29"); // a range without cooldown
    CHECK(reserve(owner("f", "u"), {resting}) == "exhausted");
}

TEST_CASE_METHOD(Subnet, "another container of the same pod gets another address, unless it inherits") {
    store->set_node_uid("uid-of-n");
    CHECK(reserve(owner("old", "p"), {claim(kRange)}) == "10.0.0.1/29");
    CHECK(reserve(owner("new", "p"), {claim(kRange)}) == "10.0.0.2/29");
    CHECK(release(owner("new", "p")) == "10.0.0.2/29");

    const auto left = store->find_predecessors(owner("new", "p"), soon());
    REQUIRE(text_of(left) == "10.0.0.1/29");
    ipam::Owner heir = owner("new", "p");
    heir.pod_uid = "uid-of-its-heir"; // as a StatefulSet makes a pod of the same name
    CHECK(uid_of("node", "10.0.0.1") == "uid-of-n");
    store->set_node_uid(""); // the node has booted, and its Node has not yet reported it
    CHECK(text_of(store->adopt(left, heir, soon())) == "10.0.0.1/29");
    CHECK(uid_of("pod", "10.0.0.1") == heir.pod_uid);
    CHECK(uid_of("node", "10.0.0.1").empty());
    CHECK(pool() == R"({"allocations":{"1":{"id":"new","ifname":"net1","podref":"default/p"}},"range":"10.0.0.0/29"})");
    CHECK(reserve(owner("new", "p"), {claim(kRange)}) == "10.0.0.1/29");
    CHECK(release(owner("old", "p")).empty());
    CHECK(store->reclaim(left, soon()).empty());
    CHECK(reservation("10.0.0.1") == R"({"ifname":"net1","podref":"default/p"})");
    CHECK(release(owner("new", "p")) == "10.0.0.1/29");
    CHECK(reservation("10.0.0.1").empty());
}

TEST_CASE_METHOD(Subnet, "an address that another range has given is not given again") {
    WhereaboutsStore wider(*api, options({"10.0.0.0/24"}));
    CHECK(text_of(wider.reserve(owner("w", "wide"), {claim("10.0.0.0/24")}, soon())) == "10.0.0.1/24");
    CHECK(reserve(owner("a", "p"), {claim(kRange)}) == "10.0.0.2/29");
    CHECK(reserve(owner("b", "q"), {wanting(kRange, "10.0.0.1")}) == "taken by wide");
    CHECK(reserve(owner("b", "q"), {wanting(kRange, "10.0.0.2")}) == "taken by p");
    CHECK(pool() == R"({"allocations":{"2":{"id":"a","ifname":"net1","podref":"default/p"}},"range":"10.0.0.0/29"})");
    CHECK(text_of(wider.release(owner("w", "wide").key, soon())) == "10.0.0.1/24");
    CHECK(reserve(owner("b", "q"), {claim(kRange)}) == "10.0.0.1/29");
}

TEST_CASE_METHOD(Subnet, "any number of addresses that another range has given costs three requests") {
    const ipam::test::TemporaryDirectory directory;
    WhereaboutsStore::Options wide = options({"10.0.0.0/24"});
    wide.state_directory = directory.path();
    WhereaboutsStore wider(*api, wide);
    constexpr int kGiven = 30;
    for (int number = 1; number <= kGiven; ++number)
        (void)wider.reserve(owner("w" + std::to_string(number), "wide"), {claim("10.0.0.0/24")}, soon());
    Relay relay("rdmanet");
    const auto counted = relay.connect();
    WhereaboutsStore::Options own = options({"10.0.0.0/25"});
    own.state_directory = directory.path();
    WhereaboutsStore counting(*counted, own);
    (void)counting.reserve(owner("first", "p"), {wanting("10.0.0.0/25", "10.0.0.100")}, soon()); // makes the pool
    (void)relay.take_requests();
    CHECK(text_of(counting.reserve(owner("a", "p"), {claim("10.0.0.0/25")}, soon())) == "10.0.0.31/25");
    auto requests = relay.take_requests();
    CAPTURE(requests);
    std::erase_if(requests, [](const auto& request) { return request.find("rdmanet-turns") != std::string::npos; });
    CHECK(requests.size() <= 6);
    CHECK(reservation("10.0.0.31") == R"({"ifname":"net1","podref":"default/p"})");
    CHECK(text_of(counting.release(owner("a", "p").key, soon())) == "10.0.0.31/25");
    CHECK(reservation("10.0.0.31").empty());
    CHECK(reservation("10.0.0.1") == R"({"ifname":"net1","podref":"default/wide"})");
}

TEST_CASE_METHOD(Subnet, "without reservations each range is alone") {
    ipam::Claim alone = claim(kRange);
    alone.space = space + "@10.0.0.0/29";
    CHECK(reserve(owner("a", "p"), {alone}) == "10.0.0.1/29");
    CHECK(reservation("10.0.0.1").empty());
    CHECK(pool() == R"({"allocations":{"1":{"id":"a","ifname":"net1","podref":"default/p"}},"range":"10.0.0.0/29"})");
}

TEST_CASE_METHOD(Subnet, "all ranges or none") {
    const ipam::Claim six = claim("fd00::/64");
    WhereaboutsStore both(*api, options({"10.0.0.0/29", "fd00::/64"}));
    CHECK(text_of(both.reserve(owner("a", "p"), {wanting(kRange, "10.0.0.1"), six}, soon())) ==
          "10.0.0.1/29 fd00::1/64");
    CHECK(text_of(both.reserve(owner("b", "q"), {six, wanting(kRange, "10.0.0.1")}, soon())) == "taken by p");
    CHECK(text_of(both.find(owner("b", "q").key, soon())).empty());
    CHECK(reservation("fd00--2").empty());
    CHECK(text_of(both.release(owner("a", "p").key, soon())) == "10.0.0.1/29 fd00::1/64");
}

TEST_CASE_METHOD(Subnet, "records of others stay as they are, whatever they look like") {
    make_pool(kRange, R"({"1":{"id":"old","podref":"default/x"},)"
                      R"("9223372036854775808":{"id":"far","podref":"default/y"},"x":{"id":"bad","podref":""}})");
    const std::string before = pool();
    CHECK(reserve(owner("a", "p"), {claim(kRange)}) == "10.0.0.2/29");
    CHECK(release(owner("a", "p")) == "10.0.0.2/29");
    CHECK(pool() == before);
    CHECK(release(owner("old", "x")) == "10.0.0.1/29"); // a record of whereabouts before 0.7 names no interface
}

TEST_CASE_METHOD(Subnet, "a pool loses its managedFields with the first claim, and nothing else of its metadata") {
    const std::string path = path_of_pool(kRange);
    make_pool(kRange, "{}");
    patch(path, R"([{"op":"add","path":"/metadata/labels","value":{"a":"b"}},)"
                R"({"op":"add","path":"/metadata/annotations","value":{"c":"d"}}])");
    const auto metadata = [&] {
        const auto outcome = admin->get(path, soon());
        const json::Reader all = std::get<kube::Object>(outcome).content.root().at("metadata");
        CHECK(all.at("labels").to_text() == R"({"a":"b"})");
        CHECK(all.at("annotations").to_text() == R"({"c":"d"})");
        return all.to_text();
    };
    CHECK_THAT(metadata(), Contains("managedFields"));
    CHECK(reserve(owner("a", "p"), {claim(kRange)}) == "10.0.0.1/29");
    CHECK_THAT(metadata(), !Contains("managedFields"));
    patch(path,
          R"([{"op":"add","path":"/spec/allocations/2","value":{"id":"w","podref":"default/w","ifname":"net1"}}])");
    CHECK(release(owner("a", "p")) == "10.0.0.1/29");
    CHECK_THAT(metadata(), !Contains("managedFields"));
}

TEST_CASE_METHOD(Subnet, "what an ADD that was killed left behind is finished or given back") {
    CHECK(reserve(owner("a", "p"), {claim(kRange)}) == "10.0.0.1/29");
    delete_object(std::string(kObjects) + "overlappingrangeipreservations/" + space + "-10.0.0.1");
    SECTION("the next ADD reserves what the pool gives it") {
        CHECK(reserve(owner("a", "p"), {claim(kRange)}) == "10.0.0.1/29");
        CHECK(reservation("10.0.0.1") == R"({"ifname":"net1","podref":"default/p"})");
    }
    SECTION("DEL needs no reservation") {
        CHECK(release(owner("a", "p")) == "10.0.0.1/29");
        CHECK(pool() == R"({"allocations":{},"range":"10.0.0.0/29"})");
    }
}

TEST_CASE_METHOD(Subnet, "whereabouts' reservation for the same pod and interface is not taken with a new address") {
    make_reservation("10.0.0.1");
    SECTION("another range has given it, and keeps it") {
        CHECK(reserve(owner("a", "p"), {claim(kRange)}) == "10.0.0.2/29");
        CHECK(release(owner("a", "p")) == "10.0.0.2/29");
        CHECK(pool() == R"({"allocations":{},"range":"10.0.0.0/29"})");
        CHECK_FALSE(reservation("10.0.0.1").empty());
    }
    SECTION("where whereabouts made the record of this pool, too, both are the pod's") {
        make_pool(kRange, R"({"1":{"id":"a","podref":"default/p","ifname":"net1"}})");
        CHECK(reserve(owner("a", "p"), {claim(kRange)}) == "10.0.0.1/29");
        CHECK(release(owner("a", "p")) == "10.0.0.1/29");
        CHECK(reservation("10.0.0.1").empty());
    }
}

TEST_CASE_METHOD(Subnet, "a pool that can't be read does not keep the addresses of another pool") {
    const ipam::Claim six = claim("fd00::/64");
    WhereaboutsStore both(*api, options({"10.0.0.0/29", "fd00::/64"}));
    REQUIRE(text_of(both.reserve(owner("a", "p"), {claim(kRange), six}, soon())) == "10.0.0.1/29 fd00::1/64");
    patch(path_of_pool(kRange), R"([{"op":"replace","path":"/spec/range","value":"other"}])");
    CHECK_THROWS_AS(both.release(owner("a", "p").key, soon()), ipam::StoreError);
    CHECK(spec_at(*api, "ippools/" + space + "-fd00---64") == R"({"allocations":{},"range":"fd00::/64"})");
}

TEST_CASE_METHOD(Subnet, "two keys of one address do not hide the record behind them") {
    make_pool(kRange, R"({"1":{"id":"x","podref":"default/x"},"01":{"id":"y","podref":"default/y"},)"
                      R"("2":{"id":"z","podref":"default/z"}})");
    CHECK(reserve(owner("a", "p"), {claim(kRange)}) == "10.0.0.3/29");
}

TEST_CASE_METHOD(Subnet, "a reservation that somebody changed since it was read is not deleted") {
    REQUIRE(reserve(owner("old", "p"), {claim(kRange)}) == "10.0.0.1/29");
    WhereaboutsApi objects(*api, "kube-system");
    const std::string name = space + "-10.0.0.1";
    const auto seen = objects.find_reservation(name, soon());
    REQUIRE(seen);
    CHECK(objects.hand_over(name, *seen, owner("new", "p"), soon()) == Written::yes);
    CHECK(objects.unreserve(name, *seen, soon()) == Written::no);
    CHECK_FALSE(reservation("10.0.0.1").empty());
}

TEST_CASE_METHOD(Subnet, "a right that is missing to look for what a reboot left is a warning") {
    const auto nobody = connect("nobody");
    WhereaboutsStore::Options own = options({kRange});
    std::vector<std::string> warnings;
    own.node = {.name = "n1", .uid = {}, .machine_id = "m1", .boot_id = "b1"};
    own.warn = [&](const std::string& text) { warnings.push_back(text); };
    WhereaboutsStore limited(*nobody, own);
    CHECK(limited.give_back_earlier_boot(soon()) == "");
    REQUIRE(warnings.size() == 1);
    CHECK_THAT(warnings.front(), Contains("cannot get resource \"nodes\"") && Contains("grant that right"));
}

TEST_CASE_METHOD(Subnet, "an ADD outside of Kubernetes is refused") {
    CHECK_THROWS_WITH(reserve(owner("a", ""), {claim(kRange)}), Contains("K8S_POD_NAME"));
}

TEST_CASE_METHOD(Subnet, "a server that drops the interfaces of records is refused with a command, once in a boot") {
    const ipam::test::TemporaryDirectory directory;
    const std::string crd = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/ippools.whereabouts.cni.cncf.io";
    const std::string interface = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/allocations/"
                                  "additionalProperties/properties/ifname";
    Relay relay("rdmanet");
    const auto counted = relay.connect();
    WhereaboutsStore::Options own = options({kRange});
    own.state_directory = directory.path();
    WhereaboutsApi objects(*api, "kube-system");
    patch(crd, R"([{"op":"remove","path":")" + interface + "\"}]"); // as whereabouts 0.6 has it
    CHECK(comes_true([&] { return !objects.keeps_interfaces(soon()); }));
    WhereaboutsStore old(*counted, own);
    CHECK_THROWS_WITH(old.reserve(owner("a", "p"), {claim(kRange)}, soon()), Contains("kubectl apply -f"));
    patch(crd, R"([{"op":"add","path":")" + interface + R"(","value":{"type":"string"}}])");
    CHECK(comes_true([&] { return objects.keeps_interfaces(soon()); }));
    const auto looks = [&] {
        const auto requests = relay.take_requests();
        return std::count_if(requests.begin(), requests.end(), [](const std::string& request) {
            return request.find("dryRun=All") != std::string::npos;
        });
    };
    CHECK(looks() == 1);
    CHECK(text_of(old.reserve(owner("a", "p"), {claim(kRange)}, soon())) == "10.0.0.1/29");
    CHECK(looks() == 1);
    CHECK(text_of(old.reserve(owner("a", "p", "net2"), {claim(kRange)}, soon())) == "10.0.0.2/29");
    WhereaboutsStore other(*counted, own); // of another process
    CHECK(text_of(other.reserve(owner("b", "q"), {claim(kRange)}, soon())) == "10.0.0.3/29");
    CHECK(looks() == 0);
}
