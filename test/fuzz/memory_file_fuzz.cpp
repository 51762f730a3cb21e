// Small files of the state directory, which a full disk or somebody's editor may have damaged: what can't be read of
// them is as if it were absent.
#include "refusal.hpp"

#include "pools/rest_memory.hpp"
#include "range_verdict.hpp"
#include "support/directory.hpp"

#include <rdmanet/base/boot_memory.hpp>

#include <filesystem>
#include <fstream>
#include <string>

using namespace rdmanet;
using namespace rdmanet::fuzz;

namespace {

const leases::Node& node() {
    static const test::Directory directory;
    static const leases::Node one(directory.path(), "boot", base::Logger(base::LogLevel::error));
    return one;
}

void write(const std::string& name, std::string_view text) {
    std::ofstream(node().state_directory + '/' + name) << text;
}

void check_resting(std::string_view text) {
    constexpr std::int64_t kNow = 1000;
    base::BootMemory(node().state_directory, node().boot_id, "resting", "pool").note(text);
    const cluster::RestMemory memory(node().state_directory, node().boot_id, [] { return kNow; });
    for (const auto& [address, since] : memory.find("pool", std::chrono::hours(1)).resting)
        demand(since <= kNow && kNow - since < 3600, "an address rests longer than the cooldown");
}

void check_verdict(std::string_view text) {
    const static leases::RangeVerdictMemory memory(ipam::Config(), node());
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
    check_resting(text);
    check_verdict(text);
    return 0;
}
