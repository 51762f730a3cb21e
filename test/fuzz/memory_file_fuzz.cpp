// Small files of the state directory, which a full disk or somebody's editor may have damaged: what can't be read of
// them is as if it were absent. Only a list of ranges that have moved to a cluster must not be missed.
#include "refusal.hpp"

#include "moved_ranges.hpp"
#include "range_verdict.hpp"
#include "rest_memory.hpp"
#include "support/directory.hpp"

#include <rdmanet/base/boot_memory.hpp>
#include <rdmanet/ipam/errors.hpp>

#include <filesystem>
#include <fstream>
#include <string>

using namespace rdmanet;
using namespace rdmanet::fuzz;

namespace {

const attach::Node& node() {
    static const test::Directory directory;
    static const attach::Node one(directory.path(), base::Logger(base::LogLevel::error));
    return one;
}

void write(const std::string& name, std::string_view text) {
    std::ofstream(node().state_directory + '/' + name) << text;
}

ipam::Lease lease_of(const char* address) {
    return {.space = "", .address = *base::IpPrefix::parse(address)};
}

/// A list that can be read names a store; another one is an error, because the node would give those addresses again.
void check_moved_ranges(std::string_view text) {
    write("moved-ranges.json", text);
    try {
        const attach::MovedRanges ranges(node());
        const auto moved = ranges.find({lease_of("10.0.0.7/24"), lease_of("fd00::7/64")});
        const auto has = [&](const char* address) {
            const base::IpAddress its = lease_of(address).address.address();
            return moved->first <= its && its <= moved->last;
        };
        demand(!moved || has("10.0.0.7/24") || has("fd00::7/64"), "an address has moved that nobody asked for");
    } catch (const ipam::StoreError& error) {
        demand(std::string_view(error.what()).find("moved-ranges.json") != std::string_view::npos,
               "the error names no file");
    }
}

void check_resting(std::string_view text) {
    constexpr std::int64_t kNow = 1000;
    base::BootMemory(node().state_directory, node().boot_id, "resting", "pool").note(text);
    const cluster::RestMemory memory(node().state_directory, node().boot_id, [] { return kNow; });
    for (const auto& [address, since] : memory.resting("pool", std::chrono::seconds(60)))
        demand(since <= kNow && kNow - since < 60, "an address rests longer than the cooldown");
}

void check_verdict(std::string_view text) {
    const static attach::RangeVerdictMemory memory(ipam::Config(), state::LeaseStore(), node());
    const static std::string file = [] {
        memory.note({});
        for (const auto& entry : std::filesystem::directory_iterator(node().state_directory))
            if (const std::string name = entry.path().filename(); name.starts_with("range-verdict")) return name;
        demand(false, "a verdict is not noted");
        return std::string();
    }();
    write(file, node().boot_id + '\n' + std::string(16, '0') + '\n' + std::string(text));
    const auto verdict = memory.find();
    demand(!verdict || std::string_view("rfup").find(static_cast<char>(verdict->kind)) != std::string_view::npos,
           "a verdict that nobody knows");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    const std::string_view text = as_text(data, size);
    check_moved_ranges(text);
    check_resting(text);
    check_verdict(text);
    return 0;
}
