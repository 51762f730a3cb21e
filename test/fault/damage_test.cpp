// State files are truncated at any length. DEL still succeeds and restores the node, and so does the ADD that
// follows. GC does the same when the pod is gone and no DEL comes.
#include "sampling.hpp"
#include "stage.hpp"

#include "support/concat.hpp"
#include "support/reporter.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

namespace rdmanet::test {
namespace {

namespace fs = std::filesystem;

enum class Remover : std::uint8_t { del, gc };
const char* command_of(Remover remover) {
    return remover == Remover::gc ? "GC" : "DEL";
}

NodeState take_as_left_by(Remover remover, Stage& stage) {
    if (remover == Remover::del) return stage.node();
    stage.destroy_pod();
    NodeState without_pod = stage.node();
    stage.create_pod();
    return without_pod;
}

using PathOf = std::function<std::string(const Stage&)>;
using LengthsBelow = std::function<std::vector<std::size_t>(std::size_t)>;

void cut_everywhere(Remover remover, const char* kind, Ipam ipam, const char* what, const PathOf& path_of,
                    const LengthsBelow& lengths_below) {
    Stage stage(kind, ipam);
    NodeState before = take_as_left_by(remover, stage);
    REQUIRE(stage.run("ADD") == "");
    const std::size_t size = fs::file_size(path_of(stage));
    REQUIRE(stage.run("DEL") == "");
    const auto lengths = lengths_below(size);
    for (const std::size_t length : lengths) {
        stage.forget_state();
        std::string wrong = stage.run("ADD");
        const std::string path = path_of(stage);
        fs::resize_file(path, std::min<std::size_t>(length, fs::file_size(path)));
        if (remover == Remover::gc) stage.destroy_pod();
        wrong += remover == Remover::gc ? stage.collect_as_runtime() : stage.run("DEL");
        // The plugin keeps a damaged database for a person to look at.
        shell(concat("rm -f ", stage.state_directory(), "/leases.sqlite.corrupt-*"));
        wrong += difference_from(before);
        if (remover == Remover::gc) stage.create_pod();
        if (wrong.empty()) continue;
        FAIL_CHECK(concat(what, " cut to ", length, " of ", size, " bytes, then ", command_of(remover), ":\n", wrong));
        stage.reset();
        before = take_as_left_by(remover, stage);
    }
    std::cout << "     " << what << " cut at " << lengths.size() << " of " << size << " bytes, each with "
              << command_of(remover) << " after it" << std::endl;
}

void cut_everywhere(const char* kind, Ipam ipam, const char* what, const PathOf& path_of,
                    const LengthsBelow& lengths_below) {
    for (const Remover remover : {Remover::del, Remover::gc})
        cut_everywhere(remover, kind, ipam, what, path_of, lengths_below);
}

std::string record_of(const Stage& stage) {
    return stage.record();
}

std::string lease_database_of(const Stage& stage) {
    return concat(stage.state_directory(), "/leases.sqlite");
}

/// A database usually breaks at a page border. The sample has lengths around every border, in the header, and some
/// others.
std::vector<std::size_t> sample_near_borders(std::size_t size) {
    std::vector<std::size_t> lengths = sample_below(size);
    if (lengths.size() == size) return lengths;
    lengths.clear();
    for (std::size_t page = 0; page < size; page += 4096)
        for (const std::size_t offset : {0U, 1U, 16U, 99U, 100U, 2048U, 4095U})
            lengths.push_back(std::min(page + offset, size));
    return sample_of(lengths);
}

#define NEEDS_STAGE(ipam) NEEDS(missing_for("macvlan", ipam).empty(), missing_for("macvlan", ipam))

} // namespace

TEST_CASE("DEL and GC work with a truncated record", "[damage]") {
    NEEDS_STAGE(Ipam::built_in);
    cut_everywhere("macvlan", Ipam::built_in, "the record", record_of, sample_below);
}

TEST_CASE("DEL and GC work with a truncated record of a delegated address", "[damage]") {
    NEEDS_STAGE(Ipam::host_local);
    // The addresses come from another plugin. Without a record only the derived MAC shows whose an interface is.
    cut_everywhere("macvlan-derived", Ipam::host_local, "the record", record_of, sample_below);
}

TEST_CASE("DEL and GC work with a truncated record of addresses for another plugin's interface",
          "[damage][ipam-only]") {
    NEEDS_STAGE(Ipam::built_in);
    cut_everywhere("ipam-only", Ipam::built_in, "the record", record_of, sample_below);
}

TEST_CASE("DEL and GC work with a truncated lease database", "[damage]") {
    NEEDS_STAGE(Ipam::built_in);
    for (const char* kind : {"macvlan", "ipam-only"})
        cut_everywhere(kind, Ipam::built_in, "the lease database", lease_database_of, sample_near_borders);
}

} // namespace rdmanet::test
