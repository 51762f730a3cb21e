#include "support/directory.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/host_file.hpp>

#include <catch2/catch.hpp>

using namespace rdmanet::base;

TEST_CASE("a file of the host is below its root, wherever symbolic links lead") {
    const rdmanet::test::Directory host;
    host.write("real", "text");
    host.link("absolute", "/real");
    host.link("above", "../../../real");
    host.link("broken", "/nowhere");
    for (const char* file : {"/real", "/absolute", "/above"})
        CHECK(read_host_file_if_exists(host.path(), file, 10) == "text");
    for (const char* file : {"/broken", "/absent", "/proc/self/comm"})
        CHECK_FALSE(read_host_file_if_exists(host.path(), file, 10));
    CHECK(read_host_file_if_exists("", host.file("real"), 10) == "text");
    CHECK_THROWS_AS(read_host_file_if_exists(host.path(), "/real", 3), SystemError);
    CHECK_THROWS_WITH(read_host_file_if_exists(host.path(), "/", 10), "/ is not a regular file");
}

TEST_CASE("a file that must be below a directory is read through links that stay there only") {
    const rdmanet::test::Directory host;
    host.write("real/..2026/token", "text"); // as the kubelet projects a token
    host.link("real/..data", "..2026");
    host.link("real/token", "..data/token");
    host.link("allowed", host.file("real"));
    host.write("secret", "root's");
    host.link("real/up", "../secret");
    host.link("real/absolute", host.file("secret"));
    host.link("real/process", "/proc/self/comm");
    host.write("real-too/token", "root's");
    const auto read = [&](const std::string& file) {
        return read_host_file_if_exists("", host.file(file), 10, host.file("allowed"));
    };
    CHECK(read("allowed/token") == "text");
    CHECK(read("allowed/..2026/../token") == "text");
    CHECK_FALSE(read("allowed/absent"));
    for (const char* file : {"allowed/up", "allowed/absolute", "allowed/process", "allowed/../secret"}) {
        INFO(file);
        CHECK_THROWS_WITH(read(file), Catch::Contains("leads out of " + host.file("allowed")));
    }
    for (const char* file : {"secret", "real-too/token", "allowed"}) CHECK_THROWS_AS(read(file), OutsideError);
    CHECK_FALSE(read_host_file_if_exists("", host.file("none/token"), 10, host.file("none")));
    // Of a host: the directory's link leads there.
    host.link("etc", "/real");
    CHECK(read_host_file_if_exists(host.path(), "/etc/token", 10, "/etc") == "text");
    CHECK_THROWS_AS(read_host_file_if_exists(host.path(), "/etc/up", 10, "/etc"), OutsideError);
}

TEST_CASE("a file of the kernel or of a program is not read: that may never end") {
    for (const char* file : {"/proc/kmsg", "/proc/self/comm", "/sys/kernel/uevent_seqnum"}) {
        INFO(file);
        CHECK_THROWS_WITH(read_host_file_if_exists("", file, 100), Catch::Contains("may never end"));
    }
    CHECK_THROWS_WITH(read_host_file_if_exists("", "/proc/kmsg", 100, "/proc"), Catch::Contains("may never end"));
}
