#include "support/concat.hpp"
#include "support/directory.hpp"
#include "support/names.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/file_lock.hpp>

#include <catch2/catch.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>

using namespace rdmanet::base;
using rdmanet::test::concat;
using rdmanet::test::Directory;
using rdmanet::test::Names;
using std::chrono::milliseconds;

namespace {

/// Another process holds the lock until this object is destroyed.
class Holder {
public:
    Holder(const std::string& path, std::uint64_t slot) {
        int ready[2];
        REQUIRE(::pipe(ready) == 0);
        pid_ = ::fork();
        REQUIRE(pid_ >= 0);
        if (pid_ == 0) hold(path, slot, ready[1]);
        char byte = 0;
        (void)::close(ready[1]);
        const bool is_held = ::read(ready[0], &byte, 1) == 1;
        (void)::close(ready[0]);
        REQUIRE(is_held);
    }
    Holder(const Holder&) = delete;
    Holder& operator=(const Holder&) = delete;
    ~Holder() { die(); }
    void die() {
        if (pid_ <= 0) return;
        (void)::kill(pid_, SIGKILL);
        (void)::waitpid(pid_, nullptr, 0);
        pid_ = -1;
    }
    [[nodiscard]] pid_t pid() const { return pid_; }

private:
    [[noreturn]] static void hold(const std::string& path, std::uint64_t slot, int ready) {
        try {
            const FileLock lock(path, slot, "it", Deadline::in(milliseconds{1000}));
            (void)!::write(ready, "x", 1);
            for (;;) (void)::pause();
        } catch (...) {
            ::_exit(1);
        }
    }
    pid_t pid_ = -1;
};

bool can_lock(const std::string& path, std::uint64_t slot) try {
    const FileLock lock(path, slot, "it", Deadline::in(milliseconds{0}));
    return true;
} catch (const LockTimeout&) {
    return false;
}

} // namespace

TEST_CASE("waiting for a lock ends at the deadline and names the holder") {
    const Directory directory;
    const Holder holder(directory.file("lock"), 7);
    const auto began = std::chrono::steady_clock::now();
    try {
        const FileLock lock(directory.file("lock"), 7, "the lock of X", Deadline::in(milliseconds{50}));
        FAIL("two holders");
    } catch (const LockTimeout& error) {
        CHECK_THAT(std::string(error.what()), Names("lock of X", concat("process ", holder.pid()), "(base_test)"));
    }
    CHECK(std::chrono::steady_clock::now() - began < milliseconds{2000});
}

TEST_CASE("slots of one file, small and large ones, are separate locks, and a killed process releases its own") {
    const Directory directory;
    const std::string path = directory.file("lock");
    for (const std::uint64_t slot : {std::uint64_t{0}, std::uint64_t{4}, UINT64_MAX >> 2U, UINT64_MAX}) {
        INFO(slot);
        Holder holder(path, slot);
        CHECK_FALSE(can_lock(path, slot));
        CHECK(can_lock(path, slot ^ 1U));
        holder.die();
        CHECK(can_lock(path, slot));
    }
}

TEST_CASE("a released lock can be taken again") {
    const Directory directory;
    REQUIRE(can_lock(directory.file("lock"), 1));
    const Holder holder(directory.file("lock"), 1);
    CHECK_FALSE(can_lock(directory.file("lock"), 1));
}

TEST_CASE("a lock file that is a link is refused") {
    const Directory directory;
    REQUIRE(::symlink("/etc/passwd", directory.file("lock").c_str()) == 0);
    CHECK_THROWS_AS(FileLock(directory.file("lock"), 1, "it", Deadline::in(milliseconds{0})), SystemError);
}
