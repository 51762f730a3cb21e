#include "sample_record.hpp"

#include "support/concat.hpp"
#include "support/directory.hpp"
#include "support/names.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/file.hpp>
#include <rdmanet/state/attachment_store.hpp>
#include <rdmanet/state/topic.hpp>

#include <catch2/catch.hpp>

#include <chrono>
#include <filesystem>
#include <utility>

using namespace rdmanet;
using rdmanet::test::concat;
using rdmanet::test::Directory;
using state::AttachmentRecord;
using state::AttachmentStore;

namespace {

/// A record without a device.
AttachmentRecord record_of_child() {
    AttachmentRecord record = state::sample_record();
    record.steps.resize(1);
    return record;
}

} // namespace

TEST_CASE("reading a node without state creates nothing") {
    const Directory directory;
    const AttachmentStore store(directory.path() + "/state");
    CHECK(store.list().records.empty());
    CHECK(std::holds_alternative<state::NoRecord>(store.load(state::sample_record().key)));
    CHECK_NOTHROW(store.remove(state::sample_record().key));
    const AttachmentStore looked_at(directory.path() + "/state", state::Access::look);
    const base::Deadline deadline = base::Deadline::in(std::chrono::seconds{1});
    (void)looked_at.lock_parent(1, "eth0", deadline);
    (void)looked_at.lock_device("0000:3b:00.2", deadline);
    CHECK_FALSE(std::filesystem::exists(directory.path() + "/state"));
}

TEST_CASE("the record that has an address is found by it, as long as both are there") {
    const Directory directory;
    const AttachmentStore store(directory.path() + "/state");
    const auto address = base::IpAddress::parse("10.0.0.7").value();
    AttachmentRecord record = state::sample_record();
    record.leases = {{.space = "blue", .address = "10.0.0.7/16"}};
    const auto finds = [&] { return store.find_with_address("blue", address).has_value(); };
    CHECK_FALSE(finds());
    store.save(record);
    CHECK_FALSE(finds());
    CHECK(store.note_address("blue", address, record.key));
    CHECK(finds());
    CHECK_FALSE(store.find_with_address("", address));
    CHECK(store.note_address("blue", address, record.key));
    CHECK_FALSE(store.note_address("blue", address, record.key.with_role("ipam")));
    CHECK(finds());
    store.forget_note("blue", address);
    CHECK(store.note_address("blue", address, record.key.with_role("ipam")));
    CHECK_FALSE(finds());
    store.forget_note("blue", address);
    CHECK(store.note_address("blue", address, record.key));
    record.leases.clear();
    store.save(record);
    CHECK_FALSE(finds());
    store.save(record = state::sample_record());
    const auto prefix = base::IpPrefix::parse(record.leases.front().address).value();
    const auto finds_sample = [&] {
        return store.find_with_address(record.leases.front().space, prefix.address()).has_value();
    };
    CHECK(store.note_address(record.leases.front().space, prefix.address(), record.key));
    CHECK(finds_sample());
    store.forget_address(record.leases.front().space, prefix.address(), record.key.with_role("ipam"));
    CHECK(finds_sample());
    store.forget_address(record.leases.front().space, prefix.address(), record.key);
    CHECK_FALSE(finds_sample());
}

TEST_CASE("a saved record is loaded, listed and removed") {
    const Directory directory;
    const AttachmentStore store(directory.path() + "/state");
    const AttachmentRecord record = state::sample_record();
    store.save(record);
    CHECK(std::get<AttachmentRecord>(store.load(record.key)).to_text() == record.to_text());
    CHECK(store.list().records.size() == 1);
    store.remove(record.key);
    store.remove(record.key);
    CHECK(store.list().records.empty());
}

TEST_CASE("leftovers of a killed writer are not records, and are removed with the record") {
    const Directory directory;
    const AttachmentStore store(directory.path());
    const auto key = state::sample_record().key;
    store.save(state::sample_record());
    const std::string leftover = concat(directory.path(), "/attachments/", key.file_name(), ".tmp");
    base::write_file_durably(leftover, "{");
    CHECK(store.list().records.size() == 1);
    CHECK(store.list().unreadable.empty());
    store.remove(key);
    CHECK_FALSE(std::filesystem::exists(leftover));
}

TEST_CASE("a damaged record is reported with its path") {
    const Directory directory;
    const AttachmentStore store(directory.path());
    const auto key = state::sample_record().key;
    store.save(record_of_child());
    const std::string path = concat(directory.path(), "/attachments/", key.file_name());
    base::write_file_durably(path, "{\"version\": 1");
    CHECK(std::get<state::Unreadable>(store.load(key)).path == path);
    REQUIRE(store.list().unreadable.size() == 1);
    CHECK(store.list().unreadable[0].key == key);
}

TEST_CASE("a record with an unknown or ill-typed step is unreadable, and the error names the step") {
    const Directory directory;
    const AttachmentStore store(directory.path());
    store.save(state::sample_record());
    const auto key = state::sample_record().key;
    for (const auto& [json, why] :
         {std::pair(R"({"step": "newer"})", "steps[0].step"),
          std::pair(R"({"step": "move-link", "device": 7})", "steps[0].device"),
          std::pair(R"({"step": "move-link", "device": ""})", "steps[0]: missing required key \"ifname\""),
          std::pair(R"({"device": "0000:3b:00.2"})", "steps[0]: missing required key \"step\"")}) {
        AttachmentRecord record = state::sample_record();
        record.steps = {};
        std::string text = record.to_text();
        text.insert(text.rfind(']'), json);
        base::write_file_durably(concat(directory.path(), "/attachments/", key.file_name()), text);
        const auto outcome = store.load(key);
        REQUIRE(std::holds_alternative<state::Unreadable>(outcome));
        CHECK_THAT(std::get<state::Unreadable>(outcome).reason, rdmanet::test::Names(why));
        REQUIRE(store.list().unreadable.size() == 1);
        CHECK(store.list_about(state::device_topic("0000:3b:00.2")).empty());
    }
}

TEST_CASE("a record that the system cannot read does not count as damaged") {
    const Directory directory;
    const AttachmentStore store(directory.path());
    const auto key = state::sample_record().key;
    std::filesystem::create_directories(concat(directory.path(), "/attachments/", key.file_name())); // EISDIR
    CHECK_THROWS_AS((void)store.load(key), base::SystemError);
    REQUIRE(store.list().unreadable.size() == 1);
    CHECK(store.list().unreadable[0].key == key);
}

TEST_CASE("the name of a record's file gives its attachment") {
    using state::AttachmentKey;
    const AttachmentKey key{.network = "net.a-b_c", .container_id = "c.1", .ifname = "eth0.5"};
    CHECK(AttachmentKey::parse_file_name(key.file_name()) == key);
    AttachmentKey other = key;
    other.role = "rdma";
    CHECK(other.file_name() != key.file_name());
    CHECK(AttachmentKey::parse_file_name(other.file_name()) == other);
    for (const char* name : {"", ".json", "a:b.json", "a:b:c", "a:b:c:.json", "a:b:c:d:e.json", ":b:c.json",
                             "a::c.json", "a:b:.json", "a:b:c.json.tmp", "stray.json"})
        CHECK_FALSE(AttachmentKey::parse_file_name(name));
}

TEST_CASE("a record under another attachment's name does not count as that attachment's") {
    const Directory directory;
    const AttachmentStore store(directory.path());
    store.save(record_of_child());
    auto other = state::sample_record().key;
    other.ifname = "net2";
    std::filesystem::rename(concat(directory.path(), "/attachments/", state::sample_record().key.file_name()),
                            concat(directory.path(), "/attachments/", other.file_name()));
    const auto outcome = store.load(other);
    REQUIRE(std::holds_alternative<state::Unreadable>(outcome));
    CHECK(std::get<state::Unreadable>(outcome).reason.find("another attachment") != std::string::npos);
    CHECK(store.list().records.empty());
    REQUIRE(store.list().unreadable.size() == 1);
    CHECK(store.list().unreadable[0].key == other);
}
