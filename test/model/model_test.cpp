// Usage: model_test [--schedules N] [--without RULE] [--seed S]
//
//   model_test                 100,000 schedules, none of which may lead to a duplicate; then, for each rule of the
//                              protocol, schedules without it until one does
//   model_test --schedules N   so many schedules with all rules, or without RULE
//   model_test --seed S        the schedule of that seed, with all that happens in it
#include "model/world.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <thread>

namespace {

using namespace rdmanet::model;

/// Of the schedules, in a process for each processor; 0: none leads to a duplicate. nullopt: a process has died.
std::optional<std::uint64_t> find_duplicate(Rule without, std::uint64_t schedules) {
    const std::uint64_t step = std::max(std::thread::hardware_concurrency(), 1U);
    int ends[2];
    if (::pipe(ends) != 0) return std::nullopt;
    for (std::uint64_t first = 1; first <= step; ++first) {
        if (::fork() != 0) continue;
        std::uint64_t seed = first;
        while (seed <= schedules && explore({.seed = seed, .without = without}).duplicate.empty()) seed += step;
        if (seed > schedules) seed = 0;
        ::_exit(::write(ends[1], &seed, sizeof seed) == sizeof seed ? 0 : 1);
    }
    ::close(ends[1]);
    std::uint64_t answers = 0;
    std::uint64_t found = 0;
    for (std::uint64_t seed = 0; ::read(ends[0], &seed, sizeof seed) == sizeof seed; ++answers)
        if (seed != 0 && (found == 0 || seed < found)) found = seed;
    ::close(ends[0]);
    while (::wait(nullptr) > 0) {
    }
    return answers == step ? std::optional(found) : std::nullopt;
}

/// Whether it is as it should be.
bool check(const char* name, Rule without, std::uint64_t schedules) {
    const auto seed = find_duplicate(without, schedules);
    const bool is_ok = seed && (*seed != 0) == (without != Rule::none);
    std::printf("%s %s: ", is_ok ? "ok  " : "FAIL", name);
    if (!seed)
        std::printf("a process has died\n");
    else if (*seed == 0)
        std::printf("no duplicate in %ju schedules\n", std::uintmax_t{schedules});
    else
        std::printf("a duplicate, see --seed %ju%s%s\n", std::uintmax_t{*seed},
                    without == Rule::none ? "" : " --without ", without == Rule::none ? "" : name);
    (void)std::fflush(stdout);
    return is_ok;
}

int show(std::uint64_t seed, Rule without) {
    const Verdict verdict = explore({.seed = seed, .without = without, .is_traced = true});
    for (const std::string& line : verdict.trace) std::printf("%s\n", line.c_str());
    std::printf("%s\n", verdict.duplicate.empty() ? "no duplicate" : verdict.duplicate.c_str());
    return verdict.duplicate.empty() ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
    constexpr std::uint64_t kSchedules = 100'000;
    std::uint64_t schedules = 0;
    std::uint64_t seed = 0;
    RuleOff without{.rule = Rule::none, .name = "all rules"};
    for (int at = 1; at + 1 < argc; at += 2) {
        const std::string_view option = argv[at];
        if (option == "--schedules") schedules = std::strtoull(argv[at + 1], nullptr, 10);
        if (option == "--seed") seed = std::strtoull(argv[at + 1], nullptr, 10);
        if (option != "--without") continue;
        for (const RuleOff& rule : rules())
            if (std::string_view(argv[at + 1]) == rule.name) without = rule;
    }
    if (seed != 0) return show(seed, without.rule);
    int passed = 0;
    int failed = 0;
    const auto count = [&](const RuleOff& rule, std::uint64_t most) {
        ++(check(rule.name, rule.rule, most) ? passed : failed);
    };
    count(without, schedules != 0 ? schedules : kSchedules);
    if (schedules == 0 && without.rule == Rule::none)
        for (const RuleOff& rule : rules()) count(rule, kSchedules);
    std::printf("%d passed, %d failed, 0 skipped\n", passed, failed);
    return failed == 0 ? 0 : 1;
}
