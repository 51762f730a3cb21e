// Objects that others wrote: every form that whereabouts from 0.4 on writes, and what nobody writes.
#include <rdmanet/cluster/survey.hpp>

#include <catch2/catch.hpp>

#include <string>

using namespace rdmanet;
using namespace rdmanet::cluster;

namespace {

SeenPool pool_of(const std::string& name, const std::string& spec) {
    return parse_seen_pool(
        json::Document::parse(R"({"metadata":{"name":")" + name + R"("},"spec":)" + spec + "}").root());
}

SeenReservation reservation_of(const std::string& metadata, const std::string& spec) {
    return parse_seen_reservation(
        json::Document::parse(R"({"metadata":{)" + metadata + R"(},"spec":)" + spec + "}").root());
}

SeenPod pod_with_status(const std::string& status) {
    return parse_seen_pod(json::Document::parse(R"({"metadata":{"namespace":"shop","name":"till","uid":"u1",)"
                                                R"("annotations":{"k8s.v1.cni.cncf.io/network-status":")" +
                                                status + R"("}}})")
                              .root());
}

std::string address_text(const std::optional<base::IpAddress>& address) {
    return address ? address->to_string() : "none";
}

} // namespace

TEST_CASE("a survey reads records of every version of whereabouts") {
    const SeenPool pool = pool_of("net-10.0.0.0-24", R"({"range":"10.0.0.0/24","allocations":{
        "10":{"id":"c10","podref":"shop/new","ifname":"net1"},
        "9":{"id":"c9","podref":"shop/old"},
        "8":{"id":"c8","podref":""}}})");
    CHECK(pool.trouble == "");
    CHECK(pool.space == "net");
    REQUIRE(pool.records.size() == 3);
    CHECK(address_text(pool.records[0].address) == "10.0.0.8");
    CHECK(address_text(pool.records[1].address) == "10.0.0.9");
    CHECK(pool.records[1].ifname == "");
    CHECK(pool.records[1].podref == "shop/old");
    CHECK(pool.records[2].text == R"({"id":"c10","ifname":"net1","podref":"shop/new"})");
    for (const SeenRecord& record : pool.records) CHECK(record.trouble == "");
    CHECK(pool_of("2001-db8---64", R"({"range":"2001:db8::/64","allocations":{}})").trouble == "");
    CHECK(pool_of("node-1-10.0.1.0-28", R"({"range":"10.0.1.0/28"})").space == "node-1"); // a slice
    CHECK(pool_of("10.0.0.0-24", R"({"range":"10.0.0.0/24"})").mark == "");
    CHECK(pool_of(R"(10.0.0.0-24","annotations":{"rdmanet.cni/address-range":"r1"},"uid":"u)",
                  R"({"range":"10.0.0.0/24"})")
              .mark == "r1");
}

TEST_CASE("a survey says what is wrong with an object, and refuses none") {
    const SeenPool pool = pool_of("10.0.0.0-24", R"({"range":"10.0.0.0/24","allocations":{
        "x":{"id":"c1","podref":"a/b"},"-1":{"id":"c2","podref":"a/b"},"256":{"id":"c3","podref":"a/b"},
        "9223372036854775808":{"id":"c4","podref":"a/b"},"5":"text","6":{"id":7},"7":{"id":"c7","podref":"a/b"}}})");
    REQUIRE(pool.records.size() == 7);
    for (const SeenRecord& record : pool.records) {
        INFO(record.key);
        CHECK((record.trouble == "") == (record.key == "7"));
    }
    CHECK(address_text(pool.records[0].address) == "10.0.0.5");
    CHECK(address_text(pool.records.back().address) == "none");
    CHECK(pool_of("10.0.0.0-24", R"({"range":"10.0.0.0/8"})").trouble != "");
    CHECK(pool_of("10.0.0.0-24", R"({"range":"ten"})").trouble != "");
    CHECK(pool_of("10.0.0.0-24", R"({"range":10})").trouble != "");
    CHECK(pool_of("10.0.0.0-24", "7").trouble != "");
}

TEST_CASE("a survey reads reservations of rdmanet, of whereabouts and of its early versions") {
    const SeenReservation ours =
        reservation_of(R"("name":"net-fd00--1","uid":"u","resourceVersion":"5",)"
                       R"("annotations":{"rdmanet.cni/container-id":"c1","rdmanet.cni/pod-uid":"p1",)"
                       R"("rdmanet.cni/node-name":"n1"})",
                       R"({"podref":"shop/till","ifname":"net1"})");
    CHECK(ours.is_ours);
    CHECK(ours.space == "net");
    CHECK(address_text(ours.address) == "fd00::1");
    CHECK(ours.node == "n1");
    CHECK(ours.pod_uid == "p1");
    const SeenReservation theirs = reservation_of(R"("name":"10.0.0.5")", R"({"podref":"shop/till"})");
    CHECK_FALSE(theirs.is_ours);
    CHECK(address_text(theirs.address) == "10.0.0.5");
    CHECK(theirs.trouble == "");
    CHECK(reservation_of(R"("name":"10.0.0.5")", R"({"containerid":"c1"})").container_id == "c1");
    CHECK(address_text(reservation_of(R"("name":"fd00--0")", R"({"podref":"a/b"})").address) == "fd00::");
    CHECK(reservation_of(R"("name":"10.0.0.5")", "{}").trouble != "");
    CHECK(reservation_of(R"("name":"nothing")", R"({"podref":"a/b"})").trouble != "");
}

TEST_CASE("a survey reads blocks, and says why it can't") {
    const auto block_of = [](const std::string& metadata, const std::string& spec) {
        return parse_seen_block(json::Document::parse(R"({"metadata":{"name":"n-10.0.0.0-28","resourceVersion":"1",)"
                                                      R"("uid":"b1")" +
                                                      metadata + R"(},"spec":{)" + spec +
                                                      R"("range":"10.0.0.0/24","block":"10.0.0.0/28",)"
                                                      R"("node":{"name":"n1","uid":"u1"},"bootID":"t1"}})")
                                    .root());
    };
    const SeenBlock block =
        block_of("", R"("networkName":"n","rangeUID":"r1","inUse":3,"inUseAt":"2026-01-01T00:00:00Z",)");
    CHECK(block.trouble == "");
    CHECK(block.space == "n");
    CHECK(block.range_uid == "r1");
    CHECK(block.node_uid == "u1");
    CHECK(block.in_use == 3);
    CHECK_FALSE(block.is_node_gone);
    CHECK(block_of(R"(,"annotations":{"rdmanet.cni/node-gone":"1767225600 gone"})", "").is_node_gone);
    CHECK(block_of(R"(,"deletionTimestamp":"2026-01-01T00:00:00Z")", "").is_going);
    CHECK(block_of("", R"("inUse":"many",)").trouble != "");
}

TEST_CASE("the status of a pod's networks gives its addresses, but for the default network's") {
    const SeenPod pod = pod_with_status(R"([{\"name\":\"default/eth\",\"ips\":[\"10.244.0.5\"],\"default\":true},)"
                                        R"({\"name\":\"shop/roce\",\"ips\":[\"10.0.0.5\",\"fd00::5\",\"x\",7]},7])");
    CHECK(pod.name == "shop/till");
    REQUIRE(pod.addresses.size() == 2);
    CHECK(pod.addresses[0].network == "shop/roce");
    CHECK(pod.addresses[1].address.to_string() == "fd00::5");
    CHECK(pod_with_status("no list").addresses.empty());
    CHECK(pod_with_status("{}").addresses.empty());
}

TEST_CASE("a network has its addresses in pools if its own plugin or one of its list says so") {
    CHECK(has_pools(R"({"type":"macvlan","ipam":{"type":"whereabouts","range":"10.0.0.0/24"}})"));
    CHECK(has_pools(R"({"plugins":[{"type":"tuning"},{"type":"rdmanet","ipam":{"type":"rdmanet"}}]})"));
    CHECK_FALSE(has_pools(R"({"type":"rdmanet","ipam":{"type":"rdmanet","store":"node"}})"));
    CHECK_FALSE(has_pools(R"({"type":"macvlan","ipam":{"type":"static"}})"));
    CHECK_FALSE(has_pools(""));
    CHECK_FALSE(has_pools("[]"));
}
