#include <rdmanet/kernel/live_namespaces.hpp>

#include "fixture.hpp"

#include "support/directory.hpp"
#include "support/names.hpp"

#include <rdmanet/base/text.hpp>

#include <catch2/catch.hpp>

#include <sys/mount.h>

#include <chrono>
#include <semaphore>
#include <set>
#include <thread>

namespace rdmanet::kernel {
namespace {

using rdmanet::test::Names;

bool is_live(std::uint64_t inode) {
    return list_live_netns().paths.contains(inode);
}

bool can_examine_all() {
    return list_live_netns().doubt.empty();
}

#define NEEDS_EVERY_PROCESS() NEEDS(can_examine_all(), "the right to look at every process")

TEST_CASE("the namespace of a process is alive, an unknown number and one that only an open descriptor keeps are not") {
    const std::uint64_t own = Netns::current().id().inode;
    CHECK(is_live(own));
    CHECK_FALSE(is_live(1));
    NEEDS_EVERY_PROCESS();
    const Netns netns = test::make_netns();
    CHECK_FALSE(is_live(netns.id().inode));
}

TEST_CASE("a thread alone in a namespace keeps it alive") {
    const Netns netns = test::make_netns();
    std::binary_semaphore inside{0};
    std::binary_semaphore done{0};
    std::thread thread([&] {
        const NetnsScope scope(netns);
        inside.release();
        done.acquire();
    });
    inside.acquire();
    CHECK(is_live(netns.id().inode));
    done.release();
    thread.join();
}

TEST_CASE("a mount keeps a namespace alive") {
    NEEDS_EVERY_PROCESS();
    const Netns netns = test::make_netns();
    const rdmanet::test::Directory directory;
    const std::string place = directory.write("pod net", ""); // mountinfo writes the space as \040
    const std::string source = "/proc/self/fd/" + std::to_string(netns.fd());
    REQUIRE(::mount(source.c_str(), place.c_str(), nullptr, MS_BIND, nullptr) == 0);
    const LiveNetns live = list_live_netns();
    REQUIRE(live.paths.contains(netns.id().inode));
    CHECK(get_netns(live.paths.at(netns.id().inode)) == netns);
    CHECK(::umount2(place.c_str(), MNT_DETACH) == 0);
    CHECK_FALSE(is_live(netns.id().inode));
}

/// A fake procfs with processes that end while they are examined.
struct FakeProc : rdmanet::test::Directory {
    void add(const std::string& pid, const std::string& net, const std::string& mnt, const std::string& mountinfo) {
        link(pid + "/ns/net", "net:[" + net + "]");
        link(pid + "/task/" + pid + "/ns/net", "net:[" + net + "]");
        link(pid + "/ns/mnt", "mnt:[" + mnt + "]");
        if (!mountinfo.empty()) write(pid + "/mountinfo", mountinfo);
    }
};

TEST_CASE("processes that vanish meanwhile prove nothing and cause no error") {
    FakeProc proc;
    proc.make("17");                // gone except for its directory
    proc.make("sys/net");           // not a process
    proc.add("18", "100", "7", ""); // gone before its mounts could be read
    const std::string mounts = "31 24 0:4 / /proc rw - proc proc rw\n"
                               "99 24 0:4 net:[200] /run/netns/a rw shared:5 - nsfs nsfs rw\n"
                               "98 24 0:4 mnt:[201] /run/x rw - nsfs nsfs rw\n"
                               "97 24 0:4 net:[2000] /run/netns/b rw - nsfs nsfs rw\n";
    proc.add("19", "101", "7", mounts);
    proc.add("20", "102", "7", mounts);
    const LiveNetns live = list_live_netns(proc.path());
    CHECK(live.doubt == "");
    std::set<std::uint64_t> inodes;
    for (const auto& [inode, path] : live.paths) inodes.insert(inode);
    CHECK(inodes == std::set<std::uint64_t>{100, 101, 102, 200, 2000});
    CHECK(live.paths.at(200).ends_with("root/run/netns/a")); // below /proc/PID
}

TEST_CASE("a process that cannot be examined prevents the proof of death, not that of life") {
    FakeProc proc;
    proc.write("17/ns/net", "not a link");
    proc.add("18", "100", "7", "");
    const LiveNetns live = list_live_netns(proc.path());
    CHECK_THAT(live.doubt, Names("process 17", proc.file("17/ns/net"), "invalid argument"));
    CHECK(live.paths.contains(100));
}

TEST_CASE("a namespace's cookie is stable and unique, and the boot ID is stable") {
    const Netns netns = test::make_netns();
    CHECK(netns_cookie(netns) == netns_cookie(netns));
    CHECK(netns_cookie(netns) != netns_cookie(test::make_netns()));
    CHECK(boot_id().size() == 36);
    CHECK(boot_id() == boot_id());
}

} // namespace
} // namespace rdmanet::kernel
