// Which addresses the node's own store gives no more, and where leases are that are on their way between two stores.
#include "moved_ranges.hpp"

#include "support/directory.hpp"
#include "support/names.hpp"

#include <rdmanet/attach/node.hpp>
#include <rdmanet/attach/recorded_leases.hpp>
#include <rdmanet/json/reader.hpp>

#include <catch2/catch.hpp>

#include <fstream>
#include <string>

using namespace rdmanet;
using namespace rdmanet::attach;
using rdmanet::test::Names;

namespace {

class NodeWithMoves {
public:
    [[nodiscard]] Node node() const { return {directory_.path(), base::Logger(base::LogLevel::error)}; }
    [[nodiscard]] MovedRanges ranges() const { return MovedRanges(node()); }
    /// The store that has the address by now; empty: the node's own.
    [[nodiscard]] std::string store_of(const std::string& address, const std::string& space = "") const {
        const auto moved =
            ranges().find({ipam::Lease{.space = space, .address = base::IpPrefix::parse(address).value()}});
        return moved ? moved->store : "";
    }
    void write(const std::string& text) const { std::ofstream(directory_.path() + "/moved-ranges.json") << text; }

private:
    rdmanet::test::Directory directory_;
};

ipam::Config network(const std::string& members) {
    return ipam::parse_config(json::Document::parse("{" + members + "}").root());
}

} // namespace

TEST_CASE("the leases of a range that has moved are known by their addresses and their space") {
    const NodeWithMoves here;
    CHECK(here.store_of("10.0.0.1/24") == "");
    const ipam::Config both = network(R"("range": "10.0.0.0/24", "ipRanges": [{"range": "fd00::/120"}])");
    here.ranges().add(both, "blocks");
    CHECK(here.store_of("10.0.0.1/24") == "blocks");
    CHECK(here.store_of("10.0.0.254/24") == "blocks");
    CHECK(here.store_of("fd00::7/120") == "blocks");
    CHECK(here.store_of("10.0.1.1/24") == "");
    CHECK(here.store_of("fd00::1:7/120") == "");
    CHECK(here.store_of("10.0.0.1/24", "blue") == "");
    here.ranges().add(network(R"("range": "10.0.0.0/24", "network_name": "blue")"), "etcd");
    CHECK(here.store_of("10.0.0.1/24", "blue") == "etcd");
    CHECK(here.store_of("10.0.0.1/24") == "blocks");

    here.ranges().add(both, "whereabouts");
    CHECK(here.store_of("10.0.0.1/24") == "whereabouts");
    here.ranges().remove(both);
    CHECK(here.store_of("10.0.0.1/24") == "");
    CHECK(here.store_of("fd00::7/120") == "");
    CHECK(here.store_of("10.0.0.1/24", "blue") == "etcd");
}

TEST_CASE("a part of a range that has moved stays with the other store when another part comes back") {
    const NodeWithMoves here;
    const ipam::Config upper = network(R"("range": "10.0.0.0/24", "range_start": "10.0.0.128")");
    const ipam::Config lower = network(R"("range": "10.0.0.0/24", "range_end": "10.0.0.127")");
    const ipam::Config whole = network(R"("range": "10.0.0.0/24")");
    here.ranges().add(upper, "blocks");
    here.ranges().add(lower, "blocks");
    here.ranges().remove(lower);
    CHECK(here.store_of("10.0.0.1/24") == "");
    CHECK(here.store_of("10.0.0.200/24") == "blocks");
    here.ranges().remove(whole);
    CHECK(here.store_of("10.0.0.200/24") == "");
    here.ranges().add(whole, "blocks");
    here.ranges().remove(lower); // the node's own store would give the upper part, too
    CHECK(here.store_of("10.0.0.200/24") == "blocks");
}

TEST_CASE("a network is refused if one of its ranges has moved as a whole") {
    const NodeWithMoves here;
    const ipam::Config upper = network(R"("range": "10.0.0.0/24", "range_start": "10.0.0.128")");
    const ipam::Config whole = network(R"("range": "10.0.1.0/24", "ipRanges": [{"range": "10.0.0.0/24"}])");
    here.ranges().add(upper, "blocks");
    CHECK_FALSE(here.ranges().find(whole)); // it has addresses left
    const auto moved = here.ranges().find(upper);
    REQUIRE(moved);
    CHECK_THAT(moved->refusal().what(), Names("10.0.0.128 to 10.0.0.254", "store \"blocks\"",
                                              "`rdmanet ipam migrate --to node --network FILE`"));
    CHECK_FALSE(moved->refusal().temporary());
    here.ranges().add(network(R"("range": "10.0.0.0/24")"), "blocks");
    CHECK(here.ranges().find(whole));
}

TEST_CASE("a file of moved ranges that cannot be read is an error, because nobody else keeps the addresses apart") {
    const NodeWithMoves here;
    const std::string broken =
        GENERATE(R"({"ranges": [)", R"({})", R"({"ranges": [{"space": ""}]})",
                 R"({"ranges": [{"space": "", "first": "x", "last": "10.0.0.1", "store": ""}]})");
    here.write(broken);
    CHECK_THROWS_WITH(here.store_of("10.0.0.1/24"), Names("moved-ranges.json", "cannot be read"));
    CHECK_THROWS_WITH(here.ranges().find(network(R"("range": "10.0.0.0/24")")), Names("moved-ranges.json"));
    CHECK_THROWS_AS(here.ranges().add(network(R"("range": "10.0.0.0/24")"), "blocks"), ipam::StoreError);
}

TEST_CASE("a store that is rebuilt from the journal gets the leases that are on their way, if it still has them") {
    const NodeWithMoves here;
    const Node node = here.node();
    const state::AttachmentStore records = node.records();
    state::AttachmentRecord record;
    record.key = {.network = "net", .container_id = "c1", .ifname = "net1"};
    record.boot_id = node.boot_id;
    record.phase = state::Phase::attached;
    record.leases = {{.space = "", .slot = 0, .address = "10.0.0.1/24"}};
    record.lease_store = state::LeaseStore{.kind = "blocks", .kubeconfig = "/k", .pools = {}, .is_beside = true};
    records.save(record);
    CHECK(list_recorded_leases(records, node.boot_id).size() == 1);
    CHECK(list_recorded_leases(records, node.boot_id, "blocks").empty());
    record.lease_store->is_beside = false;
    records.save(record);
    CHECK(list_recorded_leases(records, node.boot_id).empty());
    CHECK(list_recorded_leases(records, node.boot_id, "blocks").size() == 1);
}
