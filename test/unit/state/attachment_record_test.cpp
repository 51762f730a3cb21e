#include "sample_record.hpp"

#include "support/names.hpp"

#include <rdmanet/state/topic.hpp>

#include <catch2/catch.hpp>

using namespace rdmanet;
using rdmanet::test::Names;
using state::AttachmentRecord;

namespace {

AttachmentRecord parse(std::string_view text) {
    return AttachmentRecord::parse(text);
}

} // namespace

TEST_CASE("a record is read back whole") {
    const AttachmentRecord record = state::sample_record();
    const AttachmentRecord read = parse(record.to_text());
    CHECK(read.to_text() == record.to_text());
    CHECK(read.key == record.key);
    CHECK(read.netns.inode == UINT64_MAX);
    CHECK(read.vf_settings == record.vf_settings);
    CHECK(read.wanted.value().vf == state::sample_settings());
    CHECK_FALSE(read.wanted->active_port);
    REQUIRE(read.steps.size() == std::variant_size_v<state::Step>);
    for (std::size_t at = 0; at < read.steps.size(); ++at) {
        CHECK(read.steps[at].index() == at);
        CHECK(is_for_others(read.steps[at]) == (at >= 9));
    }
    CHECK(read.device() == "0000:3b:00.2");
    CHECK(read.topics() == std::vector<std::string>{"device 0000:3b:00.2", "parent 7",
                                                    "parent 7 kind macvlan mode macvlan mode bridge",
                                                    "device-info pod_net1"});
    AttachmentRecord less = state::sample_record();
    less.wanted->vf = {.trust = true}; // unchanged settings are not recorded
    CHECK(parse(less.to_text()).wanted.value().vf == base::VfSettings{.trust = true});
}

TEST_CASE("a record says where leases are that are not on the node, and is found by what it owes") {
    using state::LeaseStore;
    const auto is_about = [](const AttachmentRecord& record, const std::string& topic) {
        const auto topics = record.topics();
        return std::find(topics.begin(), topics.end(), topic) != topics.end();
    };
    void (*const changes[])(LeaseStore&) = {
        [](LeaseStore&) {},
        [](LeaseStore& store) { store.node_name = "n1"; },
        [](LeaseStore& store) { store.has_open_claim = true; },
        [](LeaseStore& store) { store.unsettled_until = 17; },
        [](LeaseStore& store) { store.is_released = true; },
        [](LeaseStore& store) { store.pools.clear(); },
    };
    for (const auto change : changes) {
        AttachmentRecord record = state::sample_record();
        record.lease_store = LeaseStore{
            .kind = "whereabouts", .kubeconfig = "/etc/k", .pools = {{.space = "blue", .subnet = "10.0.0.0/16"}}};
        change(*record.lease_store);
        INFO(record.to_text());
        const AttachmentRecord read = parse(record.to_text());
        CHECK(read.lease_store == record.lease_store);
        CHECK(read.to_text() == record.to_text());
        CHECK_FALSE(is_about(read, state::kOwedAddressesTopic));
        record.removal_unfinished = true;
        CHECK(is_about(parse(record.to_text()), state::kOwedAddressesTopic));
    }
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
    const auto record_of = [](const char* name, const char* boot, std::int64_t created, std::int64_t since) {
        AttachmentRecord record = state::sample_record();
        record.key.container_id = name;
        record.boot_id = boot;
        record.created = created;
        record.created_since_boot = since;
        return record;
    };
    // Compared in pairs by the clock that both have, three of them form a circle: y is younger than x, x than z, z than y.
    const std::vector<AttachmentRecord> expected = {
        record_of("now", "present", 5, 9), record_of("y", "one", 100, 20), record_of("z", "one", 300, 10),
        record_of("w", "one", 400, 0),     record_of("x", "two", 200, 5),
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

TEST_CASE("a record in an unknown phase is refused") {
    std::string text = state::sample_record().to_text();
    text.replace(text.find("\"attached\""), 10, "\"other\"");
    CHECK_THROWS_WITH(parse(text), Names("phase", "attached", "\"other\""));
}

TEST_CASE("the refusal of a record of another version names the version") {
    std::string text = state::sample_record().to_text();
    text.replace(text.find("\"version\": 1"), 12, "\"version\": 2");
    CHECK_THROWS_WITH(parse(text), Names("version", "1 to 1", "2"));
}
