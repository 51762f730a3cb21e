// Finding records by their topics: which records are found, and how few files are opened.
#include "sample_record.hpp"

#include "support/concat.hpp"
#include "support/directory.hpp"

#include <rdmanet/base/file.hpp>
#include <rdmanet/base/unique_fd.hpp>
#include <rdmanet/state/attachment_store.hpp>
#include <rdmanet/state/topic.hpp>

#include <catch2/catch.hpp>

#include <sys/inotify.h>
#include <unistd.h>

#include <filesystem>

using namespace rdmanet;
using rdmanet::test::concat;
using state::AttachmentRecord;
using state::AttachmentStore;

namespace {

/// In memory, where records have an index.
struct RecordsDirectory : rdmanet::test::Directory {
    RecordsDirectory() : Directory("/dev/shm") {}
};

std::string device_of(unsigned number) {
    return concat("0000:3b:00.", number);
}

AttachmentRecord record_of(unsigned number) {
    AttachmentRecord record = state::sample_record();
    record.key.container_id = concat("container", number);
    record.steps = {state::MoveLink{.device = device_of(number), .ifname = "net1"}};
    return record;
}

void add_records(const AttachmentStore& store, unsigned first, unsigned last) {
    for (unsigned number = first; number < last; ++number) store.save(record_of(number));
}

/// Container IDs of the records with the topic.
std::string found(const AttachmentStore& store, const std::string& topic) {
    std::string text;
    for (const AttachmentRecord& record : store.list_about(topic))
        text += concat(text.empty() ? "" : " ", record.key.container_id);
    return text;
}

/// Counts the record files that were opened since.
class Opened {
public:
    explicit Opened(const RecordsDirectory& directory) : fd_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
        if (::inotify_add_watch(fd_.get(), concat(directory.path(), "/attachments").c_str(), IN_OPEN) < 0)
            throw std::runtime_error("inotify_add_watch");
    }
    [[nodiscard]] unsigned count() const {
        alignas(inotify_event) char buffer[65536];
        unsigned files = 0;
        for (ssize_t size = 0; (size = ::read(fd_.get(), buffer, sizeof buffer)) > 0;)
            for (ssize_t at = 0; at < size;) {
                const auto* event = reinterpret_cast<const inotify_event*>(buffer + at);
                if (event->len != 0) ++files; // not the directory itself
                at += static_cast<ssize_t>(sizeof *event) + event->len;
            }
        return files;
    }

private:
    base::UniqueFd fd_;
};

unsigned opened_by_search(const RecordsDirectory& directory, const AttachmentStore& store, const std::string& topic) {
    const Opened opened(directory);
    (void)store.list_about(topic);
    return opened.count();
}

} // namespace

TEST_CASE("finding the owner of a device opens the same number of files, however many records exist") {
    const RecordsDirectory directory;
    const AttachmentStore store(directory.path());
    add_records(store, 0, 100);
    CHECK(opened_by_search(directory, store, state::device_topic(device_of(7))) ==
          100); // the first search writes the index
    CHECK(opened_by_search(directory, store, state::device_topic(device_of(7))) == 1);
    CHECK(opened_by_search(directory, store, state::parent_topic(7)) == 0);
    add_records(store, 100, 400);
    CHECK(opened_by_search(directory, store, state::device_topic(device_of(7))) == 301);
    CHECK(opened_by_search(directory, store, state::device_topic(device_of(399))) == 1);
    add_records(store, 400, 403); // a few new records do not rewrite the index
    CHECK(opened_by_search(directory, store, state::device_topic(device_of(7))) == 4);
    CHECK(found(store, state::device_topic(device_of(402))) == "container402");
}

TEST_CASE("records are found by device, parent and device-info file, as they are now") {
    const RecordsDirectory directory;
    const AttachmentStore store(directory.path());
    add_records(store, 0, 50);
    CHECK(found(store, state::device_topic(device_of(7))) == "container7");

    AttachmentRecord record = record_of(7); // rewritten with other contents
    record.steps = {
        state::CreateLink{.child = {.kind = "ipvlan", .mode = "l2", .parent = "eth0", .parent_ifindex = 12}},
        state::WriteDeviceInfo{.path = "/run/pod_net1"}};
    store.save(record);
    CHECK(found(store, state::device_topic(device_of(7))).empty());
    CHECK(found(store, state::parent_topic(12)) == "container7");
    CHECK(found(store, state::child_topic(12, "ipvlan", "l2")) == "container7");
    for (int search = 0; search < 2; ++search) { // the second search uses the index
        CHECK(store.list_about(state::parent_topic(12), state::child_topic(12, "ipvlan", "l2")).empty());
        CHECK(store.list_about(state::parent_topic(12), state::child_topic(12, "ipvlan", "l3")).size() == 1);
        add_records(store, 50, 70);
    }
    CHECK(found(store, state::device_info_topic("pod_net1")) == "container7");
    CHECK(found(store, state::parent_topic(1)).empty());

    store.remove(record.key);
    CHECK(found(store, state::parent_topic(12)).empty());
    CHECK(found(store, state::device_topic(device_of(8))) == "container8");
    std::filesystem::remove(concat(directory.path(), "/attachments/", record_of(8).key.file_name()));
    CHECK(found(store, state::device_topic(device_of(8))).empty());
}

TEST_CASE("without a usable index the search is slower and finds the same") {
    const RecordsDirectory directory;
    const AttachmentStore store(directory.path());
    const AttachmentStore looking(directory.path(), state::Access::look);
    const std::string index = directory.path() + "/records.index";
    add_records(store, 0, 50);
    CHECK(found(looking, state::device_topic(device_of(7))) == "container7");
    CHECK_FALSE(std::filesystem::exists(index)); // a reader writes nothing
    CHECK(found(store, state::device_topic(device_of(7))) == "container7");
    const std::string text = base::read_file(index, 1'000'000);
    for (std::string damaged : {std::string(), text.substr(0, text.size() / 2), text + "x", "x" + text}) {
        base::write_file_durably(index, damaged);
        CHECK(found(looking, state::device_topic(device_of(7))) == "container7");
        CHECK(found(store, state::device_topic(device_of(7))) == "container7");
        CHECK(base::read_file(index, 1'000'000) == text);
    }
    std::filesystem::remove(index);
    std::filesystem::create_directory(index); // cannot be written either
    CHECK(found(store, state::device_topic(device_of(7))) == "container7");
}
