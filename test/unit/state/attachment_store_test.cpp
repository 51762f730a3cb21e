#include "sample_record.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/file.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/state/attachment_store.hpp>

#include <catch2/catch.hpp>

#include <chrono>
#include <filesystem>

using namespace rdmanet;
using state::AttachmentRecord;
using state::AttachmentStore;

namespace {

/// A state directory to be, gone at the end of the test with what is beside it.
class Directory {
public:
    Directory() {
        char name[] = "/tmp/rdmanet-state-XXXXXX";
        above_ = ::mkdtemp(name);
        path_ = above_ + "/state";
    }
    Directory(const Directory&) = delete;
    Directory& operator=(const Directory&) = delete;
    ~Directory() { std::filesystem::remove_all(above_); }
    [[nodiscard]] const std::string& path() const { return path_; }

private:
    std::string above_;
    std::string path_;
};

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

TEST_CASE("what a killed writer left behind is no record and goes with the removal") {
    const Directory directory;
    const AttachmentStore store(directory.path());
    const auto key = state::sample_record().key;
    store.save(state::sample_record());
    const std::string leftover = base::concat(directory.path(), "/attachments/", key.file_name(), ".tmp");
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
    const std::string path = base::concat(directory.path(), "/attachments/", key.file_name());
    base::write_file_durably(path, "{\"version\": 1");
    std::filesystem::remove_all(store.copies_directory());
    CHECK(std::get<state::Unreadable>(store.load(key)).path == path);
    REQUIRE(store.list().unreadable.size() == 1);
    CHECK(store.list().unreadable[0].key == key);
}

TEST_CASE("a record that the system doesn't give is not taken for a damaged one") {
    const Directory directory;
    const AttachmentStore store(directory.path());
    const auto key = state::sample_record().key;
    std::filesystem::create_directories(base::concat(directory.path(), "/attachments/", key.file_name())); // EISDIR
    CHECK_THROWS_AS((void)store.load(key), base::SystemError);
    REQUIRE(store.list().unreadable.size() == 1);
    CHECK(store.list().unreadable[0].key == key);
}

TEST_CASE("the name of a record's file tells its attachment") {
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

TEST_CASE("a record under another attachment's name is not taken for that attachment's") {
    const Directory directory;
    const AttachmentStore store(directory.path());
    store.save(record_of_child());
    auto other = state::sample_record().key;
    other.ifname = "net2";
    std::filesystem::rename(base::concat(directory.path(), "/attachments/", state::sample_record().key.file_name()),
                            base::concat(directory.path(), "/attachments/", other.file_name()));
    const auto outcome = store.load(other);
    REQUIRE(std::holds_alternative<state::Unreadable>(outcome));
    CHECK(std::get<state::Unreadable>(outcome).reason.find("another attachment") != std::string::npos);
    REQUIRE(store.list().records.size() == 1);
    CHECK(store.list().records[0].key == state::sample_record().key); // by its second copy
    REQUIRE(store.list().unreadable.size() == 1);
    CHECK(store.list().unreadable[0].key == other);
}

TEST_CASE("a record is there twice, and either copy does") {
    const Directory directory;
    const AttachmentStore store(directory.path());
    const AttachmentRecord record = state::sample_record();
    const std::string name = record.key.file_name();
    const std::string first = base::concat(directory.path(), "/attachments/", name);
    const std::string second = base::concat(store.copies_directory(), "/", name);
    const auto is_whole = [&] {
        const AttachmentStore::Listing listing = store.list();
        const auto loaded = store.load(record.key);
        return listing.records.size() == 1 && listing.unreadable.empty() &&
               std::holds_alternative<AttachmentRecord>(loaded) &&
               std::get<AttachmentRecord>(loaded).to_text() == record.to_text();
    };
    for (const std::string& damaged : {first, second}) {
        store.save(record);
        CHECK(is_whole());
        base::write_file_durably(damaged, "{");
        CHECK(is_whole());
        std::filesystem::remove(damaged);
        CHECK(is_whole());
    }
    std::filesystem::remove(first);
    base::write_file_durably(second, "{");
    CHECK(std::get<state::Unreadable>(store.load(record.key)).path == second);
    REQUIRE(store.list().unreadable.size() == 1);
    base::write_file_durably(first, "{");
    CHECK(std::get<state::Unreadable>(store.load(record.key)).path == first);
    REQUIRE(store.list().unreadable.size() == 1);
    store.remove(record.key);
    CHECK_FALSE(std::filesystem::exists(first));
    CHECK_FALSE(std::filesystem::exists(second));
    store.save(record);
    std::filesystem::remove(first);
    std::filesystem::create_directory(first); // EISDIR, as a failing disk's EIO
    CHECK(is_whole());
}

TEST_CASE("a second copy never speaks for an attachment that is no more, nor against its record") {
    const Directory directory;
    const AttachmentStore store(directory.path());
    AttachmentRecord record = state::sample_record();
    const std::string name = record.key.file_name();
    const std::string first = base::concat(directory.path(), "/attachments/", name);
    const std::string second = base::concat(store.copies_directory(), "/", name);
    store.save(record);
    const std::string older = base::read_file(second, 1U << 20U);
    record.rdma_device = "mlx5_9/1";
    store.save(record);
    base::write_file_durably(second, older); // as if killed between the two
    CHECK(std::get<AttachmentRecord>(store.load(record.key)).rdma_device == "mlx5_9/1");
    std::filesystem::remove(first);
    std::filesystem::create_directory(first);
    CHECK_THROWS_AS(store.remove(record.key), base::SystemError);
    CHECK_FALSE(std::filesystem::exists(second));
    std::filesystem::remove(first);
    std::filesystem::create_directory(second);
    CHECK_THROWS_AS(store.save(record), base::SystemError);
    CHECK(std::filesystem::exists(first));
}

TEST_CASE("a second copy alone tells how a device was, until another container's record has the device") {
    const Directory directory;
    const AttachmentStore store(directory.path() + "//");
    const AttachmentRecord record = state::sample_record();
    store.save(record);
    std::filesystem::remove_all(directory.path());
    CHECK(std::get<AttachmentRecord>(store.load(record.key)).to_text() == record.to_text());
    CHECK(store.list().records.size() == 1);
    AttachmentRecord beside = record; // the other entry of a list
    beside.key.role = "rdma";
    store.save(beside);
    CHECK(store.list().records.size() == 2);
    AttachmentRecord next = record;
    next.key.container_id = "next";
    store.save(next);
    CHECK(std::holds_alternative<state::NoRecord>(store.load(record.key)));
    CHECK(store.list().records.size() == 2);
    std::filesystem::remove_all(directory.path());
    CHECK(store.list().records.size() == 3); // of the same second
    next.created -= 3600;                    // somebody set the clock back
    REQUIRE(record.created_since_boot);
    next.created_since_boot = *record.created_since_boot + 1;
    store.save(next);
    std::filesystem::remove_all(directory.path());
    CHECK(std::holds_alternative<state::NoRecord>(store.load(record.key)));
    CHECK(std::holds_alternative<AttachmentRecord>(store.load(next.key)));
    store.remove(beside.key);
    store.remove(record.key);
    store.remove(next.key);
    CHECK(store.list().records.empty());
    AttachmentRecord child = record_of_child();
    child.key.container_id = "child";
    store.save(child);
    std::filesystem::remove_all(directory.path());
    next.steps.resize(1); // has no device either
    store.save(next);
    CHECK(std::holds_alternative<AttachmentRecord>(store.load(child.key)));
}
