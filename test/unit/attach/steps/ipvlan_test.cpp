// What an ipvlan child requires of its siblings. Only the plan is tested, so the kernel need not support ipvlan.
#include "stage.hpp"

#include "steps/child_link.hpp"
#include "steps/recorded.hpp"
#include "support/names.hpp"

#include <rdmanet/base/file_lock.hpp>

#include <catch2/catch.hpp>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <exception>
#include <filesystem>
#include <future>
#include <optional>
#include <string>

using namespace rdmanet;
using namespace rdmanet::attach;
using attach::test::Stage;
using rdmanet::test::Names;

namespace {

constexpr const char* kL2 = R"("attach": "ipvlan", "master": "parent0", "mode": "l2", "rdma": false)";

unsigned index_of(Stage& stage, const std::string& name) {
    return kernel::find_link(stage.host(), kernel::test::ifname(name)).value().ifindex;
}

void rename(Stage& stage, unsigned ifindex, const std::string& name) {
    kernel::change_link(stage.host(), ifindex, {.state = kernel::AdminState::down});
    kernel::change_link(stage.host(), ifindex, {.name = kernel::test::ifname(name)});
    kernel::change_link(stage.host(), ifindex, {.state = kernel::AdminState::up});
}

std::string lock_file_of(const Stage& stage) {
    return stage.context().attachment.node.state_directory + "/parents.lock";
}

bool has_open(const std::string& path) {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return std::any_of(begin(all), end(all), [&](const auto& file) {
        std::error_code ignored;
        return std::filesystem::read_symlink(file.path(), ignored) == path;
    });
}

/// Asks another process, because a process does not see its own locks.
bool is_locked_by_us(const Stage& stage, unsigned ifindex) {
    const pid_t child = ::fork();
    if (child == 0) {
        try {
            ::_exit(base::find_lock_holder(lock_file_of(stage), ifindex) == ::getppid() ? 1 : 0);
        } catch (const std::exception&) {
            ::_exit(2);
        }
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status));
    REQUIRE(WEXITSTATUS(status) != 2);
    return WEXITSTATUS(status) == 1;
}

/// Another process holds the parent's lock until this object is destroyed.
class Holder {
public:
    Holder(const Stage& stage, unsigned ifindex) {
        int ready[2];
        REQUIRE(::pipe(ready) == 0);
        pid_ = ::fork();
        if (pid_ == 0) hold(stage, ifindex, ready[1]);
        (void)::close(ready[1]);
        char byte = 0;
        const bool is_held = ::read(ready[0], &byte, 1) == 1;
        (void)::close(ready[0]);
        REQUIRE(is_held);
    }
    Holder(const Holder&) = delete;
    Holder& operator=(const Holder&) = delete;
    ~Holder() {
        (void)::kill(pid_, SIGKILL);
        (void)::waitpid(pid_, nullptr, 0);
    }

private:
    /// Ends with the testing process, however that ends.
    [[noreturn]] static void hold(const Stage& stage, unsigned ifindex, int ready) try {
        (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
        const auto lock = stage.context().attachment.records.lock_parent(ifindex, "it", kernel::test::soon());
        (void)!::write(ready, "x", 1);
        for (;;) (void)::pause();
    } catch (const std::exception&) {
        ::_exit(2);
    }

    pid_t pid_ = -1;
};

/// Another attachment with a child of "parent0" in this mode, in the stage's pod.
state::AttachmentRecord sibling_of(Stage& stage, const std::string& mode) {
    state::AttachmentRecord other = stage.record();
    other.key.container_id = "c2";
    other.phase = state::Phase::attached;
    other.steps = {to_record(CreateLink{
        .child = {.kind = "ipvlan", .mode = mode, .parent = "parent0", .parent_ifindex = index_of(stage, "parent0")},
        .ifname = "net1"})};
    return other;
}

} // namespace

TEST_CASE("an ipvlan child is planned beside children of its mode, and refused beside others of living pods") {
    NEEDS_KIND("veth");
    Stage stage(kL2);
    stage.plan();
    REQUIRE(stage.record().child() != nullptr);
    const std::string own_mode = stage.record().child()->mode;
    const state::AttachmentStore& records = stage.context().attachment.records;
    records.save(sibling_of(stage, own_mode));
    CHECK_NOTHROW(stage.plan());
    records.save(sibling_of(stage, "ipvlan mode l3"));
    CHECK_THROWS_WITH(stage.plan(), Names("\"parent0\"", "ipvlan mode l3", own_mode, "\"c2\""));
    state::AttachmentRecord dead = sibling_of(stage, "ipvlan mode l3");
    dead.boot_id = "an earlier boot";
    records.save(dead);
    CHECK_NOTHROW(stage.plan());
}

TEST_CASE("ADD locks the parent of an ipvlan child") {
    NEEDS_KIND("veth");
    Stage stage(kL2);
    const auto parent = lock_parent(stage.context());
    REQUIRE(parent);
    CHECK(parent->link.ifindex == index_of(stage, "parent0"));
    CHECK(is_locked_by_us(stage, index_of(stage, "parent0")));
}

TEST_CASE(
    "if \"master\" becomes another interface while ADD waits for the lock, ADD locks and plans with the new one") {
    NEEDS_KIND("veth");
    Stage stage(kL2);
    const unsigned before = index_of(stage, "parent0");
    const unsigned after = index_of(stage, "peer0");
    std::optional<Holder> holder(std::in_place, stage, before);
    auto adding = std::async(std::launch::async, [&] { return lock_parent(stage.context()); });
    while (!has_open(lock_file_of(stage))) // ADD has found its parent when it opens the file; it ends at its deadline
        REQUIRE(adding.wait_for(std::chrono::milliseconds{1}) == std::future_status::timeout);
    rename(stage, before, "was0");
    rename(stage, after, "parent0");
    holder.reset();
    const auto parent = adding.get();
    REQUIRE(parent);
    CHECK(parent->link.ifindex == after);
    CHECK(is_locked_by_us(stage, after));
    CHECK_FALSE(is_locked_by_us(stage, before));
    rename(stage, after, "next0");
    rename(stage, before, "parent0");
    stage.plan({}, &parent->link);
    REQUIRE(stage.record().child() != nullptr);
    CHECK(stage.record().child()->parent_ifindex == after);
}

TEST_CASE("ADD does not lock a parent whose children need not agree") {
    NEEDS_KIND("veth");
    const Stage macvlan(R"("master": "parent0", "rdma": false)");
    CHECK_FALSE(lock_parent(macvlan.context()));
    const Stage in_pod(R"("attach": "ipvlan", "master": "parent0", "linkInContainer": true, "rdma": false)");
    CHECK_FALSE(lock_parent(in_pod.context()));
}
