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
