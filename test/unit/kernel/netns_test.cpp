#include "support/directory.hpp"
#include "support/names.hpp"

#include <rdmanet/kernel/netns.hpp>

#include "fixture.hpp"

#include <catch2/catch.hpp>

#include <sys/stat.h>
#include <sys/wait.h>

namespace rdmanet::kernel {
namespace {

using Catch::Matchers::Contains;
using rdmanet::test::Names;

std::string refusal(const std::string& path) {
    try {
        (void)find_netns(path);
    } catch (const NotANetnsError& error) {
        return error.what();
    }
    return "accepted";
}

TEST_CASE("a network namespace has the same identity through every path") {
    const rdmanet::test::Directory scratch;
    scratch.link("link", "/proc/self/ns/net");
    const auto direct = find_netns("/proc/self/ns/net");
    const auto linked = find_netns(scratch.file("link"));
    REQUIRE(direct);
    REQUIRE(linked);
    CHECK(*direct == *linked);
    CHECK(*direct == Netns::current());
    CHECK(direct->id().inode != 0);
}

TEST_CASE("an absent namespace, as of a process that has ended, is an error for get_netns, but not for find_netns") {
    CHECK_FALSE(find_netns("/nonexistent/net"));
    CHECK_FALSE(find_netns("/etc/passwd/net"));
    CHECK_FALSE(find_netns(""));
    CHECK_THROWS_AS(get_netns("/nonexistent/net"), base::SystemError);
    const pid_t child = ::fork();
    if (child == 0) ::_exit(0);
    int status = 0;
    CHECK(::waitpid(child, &status, 0) == child);
    CHECK_FALSE(find_netns("/proc/" + std::to_string(child) + "/ns/net"));
}

TEST_CASE("the error for a path to something else names what it is") {
    const rdmanet::test::Directory scratch;
    REQUIRE(::mkfifo(scratch.file("pipe").c_str(), 0600) == 0);
    CHECK_THAT(refusal(scratch.write("empty", "")), Names("empty"));
    CHECK_THAT(refusal(scratch.write("text", "x")), Contains("is a regular file"));
    CHECK_THAT(refusal(scratch.file("pipe")), Contains("is a pipe")); // does not wait for a writer either
    CHECK_THAT(refusal(scratch.path()), Contains("is a directory"));
    CHECK_THAT(refusal("/dev/null"), Contains("is a device"));
    CHECK_THAT(refusal("/proc/self/ns/mnt"), Contains("is a mount namespace"));
    CHECK_THAT(refusal("/proc/self/ns/pid"), Contains("is a process namespace"));
    CHECK_THAT(refusal("/proc/self/status"), Contains("\"/proc/self/status\""));
}

TEST_CASE("a scope enters a namespace and returns") {
    const Netns home = Netns::current();
    const Netns other = test::make_netns();
    CHECK_FALSE(home == other);
    {
        const NetnsScope scope(other);
        CHECK(Netns::current() == other);
    }
    CHECK(Netns::current() == home);
}

} // namespace
} // namespace rdmanet::kernel
