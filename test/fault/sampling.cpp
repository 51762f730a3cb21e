#include "sampling.hpp"

#include "support/concat.hpp"

#include <rdmanet/base/error.hpp>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string>
#include <string_view>

namespace rdmanet::test {
namespace {

std::string_view wanted_sample() {
    const char* chosen = std::getenv("RDMANET_FAULT_SAMPLE");
    return chosen == nullptr ? "1/250" : chosen;
}

std::size_t sample_step() {
    const std::string_view text = wanted_sample();
    if (text == "all" || text == "calls") return 1;
    const auto step = text.substr(0, 2) == "1/" ? std::strtoul(text.data() + 2, nullptr, 10) : 0;
    if (step == 0) throw base::Error(concat("RDMANET_FAULT_SAMPLE is \"", text, "\", wanted 1/N, all or calls"));
    return step;
}

std::size_t seed() {
    const char* chosen = std::getenv("RDMANET_SEED");
    return chosen == nullptr ? 0 : std::strtoul(chosen, nullptr, 10);
}

} // namespace

bool is_in_sample(std::size_t point) {
    static const std::size_t step = sample_step();
    static const std::size_t offset = seed() % step;
    return point % step == offset;
}

std::optional<std::size_t> turn_of(std::size_t call, std::size_t count) {
    if (wanted_sample() != "calls") return std::nullopt;
    return (call + seed()) % count;
}

bool is_turn(std::size_t point, std::size_t count) {
    return sample_step() == 1 || seed() % count == point;
}

bool is_wanted(std::string_view command) {
    const char* chosen = std::getenv("RDMANET_FAULT_COMMAND");
    if (chosen == nullptr) return true;
    constexpr std::string_view kCommands[] = {"ADD", "DEL", "CHECK", "GC"};
    if (std::find(std::begin(kCommands), std::end(kCommands), chosen) == std::end(kCommands))
        throw base::Error(concat("RDMANET_FAULT_COMMAND is \"", chosen, "\", wanted ADD, DEL, CHECK or GC"));
    return command == chosen;
}

} // namespace rdmanet::test
