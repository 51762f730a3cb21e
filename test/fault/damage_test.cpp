// State files cut short anywhere: DEL still succeeds and leaves the node as it was, and so does the ADD that follows.
#include "sampling.hpp"
#include "stage.hpp"

#include "support/reporter.hpp"

#include <rdmanet/base/text.hpp>

#include <catch2/catch.hpp>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

namespace rdmanet::test {
namespace {

using base::concat;
namespace fs = std::filesystem;

void cut_everywhere(Ipam ipam, const char* what, const std::function<std::string(const Stage&)>& path_of,
                    const std::function<std::vector<std::size_t>(std::size_t)>& lengths_below) {
    Stage stage("macvlan", ipam);
    const NodeState before = NodeState::take();
    REQUIRE(stage.run("ADD") == "");
    const std::size_t size = fs::file_size(path_of(stage));
    REQUIRE(stage.run("DEL") == "");
    const auto lengths = lengths_below(size);
    for (const std::size_t length : lengths) {
        stage.forget_state();
        std::string wrong = stage.run("ADD");
        fs::resize_file(path_of(stage), std::min<std::size_t>(length, fs::file_size(path_of(stage))));
        wrong += stage.run("DEL");
        // A damaged database is set aside for a person to look at.
        shell(concat("rm -f ", stage.state_directory(), "/leases.sqlite.corrupt-*"));
        wrong += difference_from(before);
        if (wrong.empty()) continue;
        FAIL_CHECK(concat(what, " cut to ", length, " of ", size, " bytes:\n", wrong));
        stage.reset();
    }
    std::cout << "     " << what << " cut at " << lengths.size() << " of " << size << " bytes" << std::endl;
}

#define NEEDS_STAGE(ipam) NEEDS(missing_for("macvlan", ipam).empty(), missing_for("macvlan", ipam))

} // namespace

TEST_CASE("a record cut at any byte", "[damage]") {
    NEEDS_STAGE(Ipam::built_in);
    cut_everywhere(
        Ipam::built_in, "the record", [](const Stage& stage) { return stage.record(); }, sample_below);
}

TEST_CASE("a record of a delegated address cut at any byte", "[damage]") {
    NEEDS_STAGE(Ipam::host_local);
    cut_everywhere(
        Ipam::host_local, "the record", [](const Stage& stage) { return stage.record(); }, sample_below);
}

TEST_CASE("the lease database cut short", "[damage]") {
    NEEDS_STAGE(Ipam::built_in);
    // Pages are the unit in which it breaks: around each border, in the header, and some in between.
    const auto near_borders = [](std::size_t size) {
        std::vector<std::size_t> lengths;
        for (std::size_t page = 0; page < size; page += 4096)
            for (const std::size_t offset : {0U, 1U, 16U, 99U, 100U, 2048U, 4095U})
                lengths.push_back(std::min(page + offset, size));
        return sample_of(lengths);
    };
    cut_everywhere(
        Ipam::built_in, "the lease database",
        [](const Stage& stage) { return concat(stage.state_directory(), "/leases.sqlite"); }, near_borders);
}

} // namespace rdmanet::test
