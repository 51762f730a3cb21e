// Several processes use one store, and some are killed meanwhile.
#include "fixture.hpp"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>

#include <csignal>
#include <random>
#include <set>
#include <thread>

using namespace rdmanet;
using namespace rdmanet::ipam;
using namespace rdmanet::ipam::test;
using Catch::Matchers::Contains;

namespace {

/// Runs `act` in a child process, which never returns to the test framework.
template <class Act>
pid_t in_child(Act act) {
    const pid_t child = ::fork();
    if (child != 0) return child;
    try {
        act();
    } catch (...) {
        ::_exit(1);
    }
    ::_exit(0);
}

int status_of(pid_t child) {
    int status = 0;
    (void)::waitpid(child, &status, 0);
    return status;
}

} // namespace

TEST_CASE_METHOD(StoreFixture, "two processes never get one address") {
    constexpr int kProcesses = 6;
    constexpr int kEach = 25;
    std::vector<pid_t> children;
    for (int process = 0; process < kProcesses; ++process)
        children.push_back(in_child([&] {
            for (int number = 0; number < kEach; ++number) {
                LeaseFile own(options()); // the plugin has a process for each call too
                const auto name = std::to_string(process) + "-" + std::to_string(number);
                const auto outcome = own.reserve(owner(name), {claim("10.0.0.0/16"), claim("fd00::/64")}, soon());
                if (!std::holds_alternative<Granted>(outcome)) ::_exit(2);
                if (number % 5 == 4) (void)own.release(owner(name).key, soon());
            }
        }));
    for (const pid_t child : children) CHECK(status_of(child) == 0);

    std::set<std::string> addresses;
    const auto leases = store.list_all(soon());
    for (const Lease& lease : leases) addresses.insert(lease.address.to_string());
    CHECK(leases.size() == 2 * kProcesses * kEach * 4 / 5);
    CHECK(addresses.size() == leases.size());
    CHECK(faults().empty());
}

TEST_CASE_METHOD(StoreFixture, "a process killed at any moment leaves a consistent store") {
    std::mt19937 random(7);
    for (int round = 0; round < 60; ++round) {
        const pid_t child = in_child([&] {
            LeaseFile own(options());
            for (int number = 0;; number = (number + 1) % 40) {
                const Owner who = owner("c" + std::to_string(number));
                (void)own.reserve(who, {resting(claim("10.0.0.0/26"), number % 3), claim("fd00::/64")}, soon());
                if (number % 2 == 0) (void)own.release(who.key, soon());
            }
        });
        std::this_thread::sleep_for(std::chrono::microseconds(500 + random() % 6000));
        (void)::kill(child, SIGKILL);
        REQUIRE(WIFSIGNALED(status_of(child)));
        REQUIRE(faults().empty());
        now.boot += 1;
    }
    REQUIRE(std::holds_alternative<Granted>(store.reserve(owner("last"), {claim("10.9.0.0/16")}, soon())));
}

TEST_CASE_METHOD(StoreFixture, "waiting ends at the deadline and names the holder") {
    (void)reserve(owner("a"), {claim("10.0.0.0/24")});
    int ready[2];
    REQUIRE(::pipe(ready) == 0);
    const pid_t child = in_child([&] {
        (void)::flock(::open(directory.path().c_str(), O_RDONLY | O_DIRECTORY), LOCK_EX);
        (void)!::write(ready[1], "x", 1);
        ::pause();
    });
    char byte = 0;
    REQUIRE(::read(ready[0], &byte, 1) == 1);

    const auto message_of = [](auto act) -> std::string {
        try {
            act();
        } catch (const base::TimeoutError& error) {
            return error.what();
        }
        return "no time-out";
    };
    const std::string expected = "process " + std::to_string(child) + " (";
    CHECK_THAT(message_of([&] { (void)store.reserve(owner("b"), {claim("10.0.0.0/24")}, passed()); }),
               Contains(directory.path()) && Contains(expected));
    CHECK(store.list_all(passed()).size() == 1); // whoever reads waits for nobody
    CHECK_THAT(message_of([&] { (void)store.release(owner("a").key, passed()); }), Contains(expected));
    CHECK_THAT(message_of([&] { (void)store.repair(passed()); }), Contains(expected));

    (void)::kill(child, SIGKILL);
    (void)status_of(child);
    CHECK(release(owner("a")) == "10.0.0.0/24");
    (void)::close(ready[0]);
    (void)::close(ready[1]);
}
