#include "sample_record.hpp"

#include "support/names.hpp"

#include <catch2/catch.hpp>

using namespace rdmanet;
using rdmanet::test::Names;
using state::AttachmentRecord;

namespace {

AttachmentRecord parse(std::string_view text) {
    return AttachmentRecord::parse(text, state::read_sample_step);
}

} // namespace

TEST_CASE("a record is read back whole") {
    const AttachmentRecord record = state::sample_record();
    const AttachmentRecord read = parse(record.to_text());
    CHECK(read.to_text() == record.to_text());
    CHECK(read.key == record.key);
    CHECK(read.netns.inode == UINT64_MAX);
    CHECK(read.created_since_boot == 500);
    REQUIRE(read.vf_settings);
    CHECK(read.vf_settings == record.vf_settings);
    REQUIRE(read.wanted);
    CHECK(read.wanted->mac == "02:00:00:00:00:01");
    CHECK(read.wanted->gids);
    CHECK_FALSE(read.wanted->active_port);
    CHECK(read.wanted->most_gids == 8);
    CHECK(read.wanted->vf == state::sample_settings());
    REQUIRE(read.steps.size() == 3);
    for (std::size_t at = 0; at < read.steps.size(); ++at) {
        CHECK(read.steps[at].kind == record.steps[at].kind);
        CHECK(read.steps[at].json == record.steps[at].json);
    }
    REQUIRE(read.child());
    CHECK(read.child()->parent == "eth1");
    CHECK(read.device() == "0000:3b:00.2");
    CHECK(read.topics() == record.topics());
    CHECK(read.topics() == std::vector<std::string>{"device 0000:3b:00.2", "parent 7",
                                                    "parent 7 kind macvlan mode macvlan mode bridge",
                                                    "device-info pod_net1"});
}

TEST_CASE("a record says where leases are that are not on the node") {
    AttachmentRecord record = state::sample_record();
    CHECK_FALSE(parse(record.to_text()).lease_store);
    record.lease_store = state::LeaseStore{
        .kind = "whereabouts", .kubeconfig = "/etc/k", .pools = {{.space = "blue", .subnet = "10.0.0.0/16"}}};
    const AttachmentRecord read = parse(record.to_text());
    REQUIRE(read.lease_store);
    CHECK(read.lease_store->kind == "whereabouts");
    CHECK(read.lease_store->node_name.empty());
    CHECK(read.lease_store->kubeconfig == "/etc/k");
    REQUIRE(read.lease_store->pools.size() == 1);
    CHECK(read.lease_store->pools[0].space == "blue");
    CHECK(read.lease_store->pools[0].subnet == "10.0.0.0/16");
    CHECK(read.lease_store->etcd.empty());
    record.lease_store->etcd = R"({"endpoints":["http://a:1"]})";
    record.lease_store->node_name = "n1";
    CHECK(parse(record.to_text()).lease_store->etcd == record.lease_store->etcd);
    CHECK(parse(record.to_text()).lease_store->node_name == "n1");
    CHECK_FALSE(parse(record.to_text()).lease_store->has_open_claim);
    record.lease_store->has_open_claim = true;
    CHECK(parse(record.to_text()).lease_store->has_open_claim);
    CHECK_FALSE(parse(record.to_text()).lease_store->are_pools_guessed);
    record.lease_store->are_pools_guessed = true;
    CHECK(parse(record.to_text()).lease_store->are_pools_guessed);
}

TEST_CASE("a record says that its leases are still in the node's own store, beside another one") {
    AttachmentRecord record = state::sample_record();
    CHECK_FALSE(record.store_with_leases());
    record.lease_store = state::LeaseStore{.kind = "blocks", .kubeconfig = "/etc/k", .pools = {}};
    CHECK_THAT(record.to_text(), !Catch::Contains("beside"));
    CHECK_FALSE(parse(record.to_text()).lease_store->is_beside);
    CHECK(parse(record.to_text()).store_with_leases() == record.lease_store);
    record.lease_store->is_beside = true;
    const AttachmentRecord read = parse(record.to_text());
    CHECK(read.lease_store == record.lease_store); // DEL gives back what is there
    CHECK_FALSE(read.store_with_leases());
    CHECK_FALSE(read.owes_addresses());
}

TEST_CASE("unchanged settings of a VF are not recorded") {
    AttachmentRecord record = state::sample_record();
    record.wanted->vf = {.trust = true};
    const auto read = parse(record.to_text()).wanted.value().vf;
    CHECK(read.trust == true);
    CHECK_FALSE(read.mac);
    CHECK_FALSE(read.vlan);
    CHECK_FALSE(read.rates);
    CHECK_FALSE(read.spoof_check);
    CHECK_FALSE(read.link_state);
}

TEST_CASE("a truncated record is refused") {
    const std::string text = state::sample_record().to_text();
    for (std::size_t length = 0; length < text.size(); ++length)
        CHECK_THROWS_AS(parse(text.substr(0, length)), base::Error);
}

TEST_CASE("a number in another notation than a record's is refused") {
    const std::string text = state::sample_record().to_text();
    const std::string number = "\"" + std::to_string(UINT64_MAX) + "\"";
    for (std::size_t at = text.find(number); at != std::string::npos; at = text.find(number, at + 1)) {
        std::string other = text;
        other.insert(at + 1, "0");
        CHECK_THROWS_WITH(parse(other), Names("decimal number", "\"0..."));
    }
}

TEST_CASE("records of several boots have one order, even if somebody set a clock back") {
    const auto record_of = [](const char* name, const char* boot, std::int64_t created,
                              std::optional<std::int64_t> since) {
        AttachmentRecord record = state::sample_record();
        record.key.container_id = name;
        record.boot_id = boot;
        record.created = created;
        record.created_since_boot = since;
        return record;
    };
    // Compared in pairs by the clock that both have, three of them form a circle: y is younger than x, x than z, z than y.
    const std::vector<AttachmentRecord> expected = {
        record_of("now", "present", 5, 9),        record_of("y", "one", 100, 20), record_of("z", "one", 300, 10),
        record_of("old version", "one", 400, {}), record_of("x", "two", 200, 5),
    };
    const auto names_of = [](const std::vector<AttachmentRecord>& records) {
        std::vector<std::string> names;
        for (const AttachmentRecord& record : records) names.push_back(record.key.container_id);
        return names;
    };
    std::vector<std::size_t> order = {0, 1, 2, 3, 4};
    do {
        std::vector<AttachmentRecord> records;
        for (const std::size_t at : order) records.push_back(expected[at]);
        sort_youngest_first(records, "present");
        REQUIRE(names_of(records) == names_of(expected));
    } while (std::next_permutation(order.begin(), order.end()));
}

TEST_CASE("the refusal of a record of another version names the version") {
    std::string text = state::sample_record().to_text();
    text.replace(text.find("\"version\": 1"), 12, "\"version\": 2");
    CHECK_THROWS_WITH(parse(text), Names("version", "1 to 1", "2"));
}

TEST_CASE("a step that this version does not know is refused, never skipped") {
    std::string text = state::sample_record().to_text();
    text.replace(text.find("\"sample\""), 8, "\"move-device\"");
    CHECK_THROWS_WITH(parse(text), Names("steps[0].step", "move-device"));
}
