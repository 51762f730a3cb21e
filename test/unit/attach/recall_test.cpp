// A DEL recalls an ADD in another process. Exactly one of them wins.
#include "recall.hpp"

#include "support/concat.hpp"
#include "support/directory.hpp"
#include "support/names.hpp"

#include <rdmanet/base/unique_fd.hpp>
#include <rdmanet/cni/error.hpp>

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <string>

using namespace rdmanet;
using namespace rdmanet::attach;
using rdmanet::test::concat;
using rdmanet::test::Names;

namespace {

constexpr std::chrono::seconds kLong{60};
constexpr int kCommitted = 0;
constexpr int kRecalled = 11;

class Pipe {
public:
    Pipe() {
        int ends[2];
        if (::pipe2(ends, O_CLOEXEC) != 0) throw base::Error("no pipe");
        read_ = base::UniqueFd(ends[0]);
        write_ = base::UniqueFd(ends[1]);
    }
    void tell() const { (void)!::write(write_.get(), "x", 1); }
    void await() const {
        char byte = 0;
        (void)!::read(read_.get(), &byte, 1);
    }

private:
    base::UniqueFd read_, write_;
};

const state::AttachmentKey kAttachment{.network = "net", .container_id = "c1", .ifname = "net1"};

class Ground {
public:
    [[nodiscard]] state::AttachmentStore store() const { return node().records(); }
    [[nodiscard]] const Node& node() const { return node_; }
    [[nodiscard]] Call call(base::Deadline deadline = base::Deadline::in(kLong)) const {
        Call call(node_, deadline);
        call.key = kAttachment;
        return call;
    }

private:
    rdmanet::test::Directory directory_;
    Node node_{directory_.path(), base::Logger(base::LogLevel::error)};
};

/// The end of an ADD that has the lock.
int commit_with(base::FileLock& lock, const Ground& ground) {
    state::AttachmentRecord record;
    record.key = kAttachment;
    record.boot_id = "boot";
    try {
        commit(record, lock, ground.call());
        return kCommitted;
    } catch (const cni::CniError& error) {
        return error.code();
    }
}

pid_t start(const std::function<int()>& act) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(act());
    return child;
}

int end_of(pid_t child) {
    int status = 0;
    (void)::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::string recall_at_once(const Ground& ground) {
    const auto now = base::Deadline::in(std::chrono::milliseconds(0));
    try {
        (void)lock_or_recall(ground.call(now), std::chrono::milliseconds(0));
        return "locked";
    } catch (const base::TimeoutError& error) {
        return error.what();
    }
}

} // namespace

TEST_CASE("a recalled ADD does not commit, and the next ADD of the same container does") {
    const Ground ground;
    const Pipe locked;
    const Pipe recalled;
    const auto add = [&] {
        base::FileLock lock = ground.store().lock_for_add(kAttachment, base::Deadline::in(kLong));
        locked.tell();
        recalled.await();
        return commit_with(lock, ground);
    };
    const pid_t first = start(add);
    locked.await();
    CHECK_THAT(recall_at_once(ground), Names("undo itself", "held by process"));
    CHECK(ground.store().list_recalled() == std::vector<state::AttachmentKey>{kAttachment});
    forget_void_recalls(ground.call());
    CHECK(ground.store().find_recall(kAttachment)); // the recalled ADD still exists
    recalled.tell();
    CHECK(end_of(first) == kRecalled);
    CHECK_FALSE(ground.store().find_recall(kAttachment));
    recalled.tell();
    CHECK(end_of(start(add)) == kCommitted);
}

TEST_CASE("a recall does not affect other ADDs, and ends with the first that commits, or with GC") {
    const Ground ground;
    for (const bool collected : {false, true}) {
        ground.store().save_recall(kAttachment, "1 1 1 boot\n");
        if (collected) {
            forget_void_recalls(ground.call());
            CHECK_FALSE(ground.store().find_recall(kAttachment));
        }
        const auto add = [&] {
            base::FileLock lock = ground.store().lock_for_add(kAttachment, base::Deadline::in(kLong));
            return commit_with(lock, ground);
        };
        CHECK(end_of(start(add)) == kCommitted);
        CHECK_FALSE(ground.store().find_recall(kAttachment));
    }
}

TEST_CASE("a committed ADD is not recalled, and DEL waits for its lock") {
    const Ground ground;
    const Pipe committed;
    const Pipe finish;
    const pid_t add = start([&] {
        base::FileLock lock = ground.store().lock_for_add(kAttachment, base::Deadline::in(kLong));
        const int code = commit_with(lock, ground);
        committed.tell();
        finish.await();
        return code;
    });
    committed.await();
    CHECK_THAT(recall_at_once(ground), Names("held", concat("process ", add)));
    CHECK_FALSE(ground.store().find_recall(kAttachment));
    finish.tell();
    CHECK(end_of(add) == kCommitted);
    CHECK(recall_at_once(ground) == "locked");
}
