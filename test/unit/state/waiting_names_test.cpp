#include "support/directory.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/file.hpp>
#include <rdmanet/state/waiting_names.hpp>

#include <catch2/catch.hpp>

using namespace rdmanet;
using state::WaitingNames;

TEST_CASE("waiting names are read until the next boot, and without any there is no file") {
    const rdmanet::test::Directory directory;
    const WaitingNames names(directory.path());
    const std::string path = directory.file("rdma-names.json");
    CHECK_FALSE(names.exist());
    CHECK(names.load("boot").empty());
    CHECK_NOTHROW(names.save({}, "boot"));
    names.save({{.device = "0000:3b:00.2", .index = 7, .node_guid = UINT64_MAX, .name = "mlx5_2"}}, "boot");
    CHECK(names.exist());
    const auto loaded = names.load("boot");
    REQUIRE(loaded.size() == 1);
    CHECK(loaded.front().device == "0000:3b:00.2");
    CHECK(loaded.front().index == 7);
    CHECK(loaded.front().node_guid == UINT64_MAX);
    CHECK(loaded.front().name == "mlx5_2");
    CHECK(names.load("another boot").empty());
    for (const char* damage : {"", "{", "[]", R"({"version":2,"bootID":"boot","names":[]})"}) {
        base::write_file_durably(path, damage);
        CHECK_THROWS_AS(names.load("boot"), base::Error);
    }
    names.save({}, "boot");
    CHECK_FALSE(names.exist());
}
