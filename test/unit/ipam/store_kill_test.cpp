// SIGKILL before every system call of an ADD, of a DEL and of the creation of a store, as a runtime's timeout may
// send it.
#include "fixture.hpp"

#include <catch2/catch.hpp>

#include <sys/ptrace.h>
#include <sys/wait.h>

#include <csignal>

using namespace rdmanet;
using namespace rdmanet::ipam;
using namespace rdmanet::ipam::test;

namespace {

enum class End { killed, finished, not_traceable };

/// Runs `act` in a child that is killed before its system call number `at` (from 0).
template <class Act>
End run_until_call(int at, Act act) {
    const pid_t child = ::fork();
    if (child == 0) {
        if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(3);
        (void)::raise(SIGSTOP);
        act();
        ::_exit(0);
    }
    int status = 0;
    (void)::waitpid(child, &status, 0);
    if (WIFEXITED(status)) return End::not_traceable;
    for (int stops = 0;; ++stops) {
        // Stops alternate between entry and exit of a call. The first stop counts as an exit, because the child
        // stopped outside of a call.
        if (stops == 2 * at + 1) {
            (void)::kill(child, SIGKILL);
            (void)::waitpid(child, &status, 0);
            return End::killed;
        }
        (void)::ptrace(PTRACE_SYSCALL, child, nullptr, nullptr);
        (void)::waitpid(child, &status, 0);
        if (WIFEXITED(status)) return End::finished;
    }
}

/// Runs `prepare`, `act` and `check`, and kills `act` before each of its calls in turn, until it survives.
template <class Prepare, class Act, class Check>
void at_every_call(Prepare prepare, Act act, Check check) {
    for (int at = 0; at < 1000; ++at) {
        INFO("killed before system call " << at);
        prepare();
        const End end = run_until_call(at, act);
        if (end == End::not_traceable) WARN("no ptrace here: nothing was tested");
        check();
        if (end != End::killed) return;
    }
    FAIL("it never finished");
}

} // namespace

TEST_CASE_METHOD(StoreFixture, "a reservation killed before any system call took all addresses or none") {
    (void)reserve(owner("first"), {claim("10.0.0.0/24")});
    at_every_call([] {},
                  [&] {
                      LeaseFile own(options());
                      (void)own.reserve(owner("a"), {claim("10.0.0.0/24"), claim("fd00::/64")}, soon());
                  },
                  [&] {
                      const std::string held = release(owner("a"));
                      REQUIRE((held.empty() || held == "10.0.0.1/24 fd00::/64"));
                      REQUIRE(faults().empty());
                      REQUIRE(store.list_all(soon()).size() == 1);
                  });
}

TEST_CASE_METHOD(StoreFixture, "the next release completes one that was killed before any system call") {
    at_every_call([&] { REQUIRE(reserve(owner("a"), {claim("10.0.0.0/24")}) == "10.0.0.0/24"); },
                  [&] {
                      LeaseFile own(options());
                      (void)own.release(owner("a").key, soon());
                  },
                  [&] {
                      (void)release(owner("a"));
                      REQUIRE(faults().empty());
                      REQUIRE(store.list_all(soon()).empty());
                  });
}

TEST_CASE("the next process creates a store whose creation was killed before any system call") {
    auto fixture = std::make_unique<StoreFixture>();
    at_every_call([&] { fixture = std::make_unique<StoreFixture>(); },
                  [&] {
                      LeaseFile own(fixture->options());
                      (void)own.reserve(owner("a"), {claim("10.0.0.0/24")}, soon());
                  },
                  [&] {
                      REQUIRE(fixture->reserve(owner("a"), {claim("10.0.0.0/24")}) == "10.0.0.0/24");
                      REQUIRE(fixture->faults().empty());
                  });
}

TEST_CASE("the next repair completes one that was killed before any system call") {
    std::unique_ptr<StoreFixture> fixture;
    std::vector<Lease> known;
    const auto seeded = [&] {
        auto options = fixture->options();
        options.known_leases = [&] { return known; };
        return options;
    };
    at_every_call(
        [&] {
            fixture = std::make_unique<StoreFixture>();
            REQUIRE(fixture->reserve(owner("a"), {claim("10.0.0.0/24")}) == "10.0.0.0/24");
            known = fixture->store.list_all(soon());
            std::filesystem::resize_file(fixture->store.path(), 5000);
        },
        [&] {
            LeaseFile own(seeded());
            (void)own.repair(soon());
        },
        [&] {
            LeaseFile own(seeded());
            (void)own.repair(soon());
            REQUIRE(text_of(own.reserve(owner("b"), {claim("10.0.0.0/24")}, soon())) == "10.0.0.1/24");
            REQUIRE(own.list_all(soon()).size() == 2);
        });
}
