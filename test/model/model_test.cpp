// Usage: model_test [--seed S] [--schedules N] [--without RULE] [--trace]
#include "model/world.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

int main(int argc, char** argv) {
    rdmanet::model::Setting setting;
    std::uint64_t schedules = 1000;
    for (int at = 1; at < argc; ++at) {
        if (std::strcmp(argv[at], "--trace") == 0) setting.is_traced = true;
        if (at + 1 == argc) break;
        if (std::strcmp(argv[at], "--seed") == 0) setting.seed = std::strtoull(argv[at + 1], nullptr, 10);
        if (std::strcmp(argv[at], "--schedules") == 0) schedules = std::strtoull(argv[at + 1], nullptr, 10);
        if (std::strcmp(argv[at], "--without") == 0) setting.without = argv[at + 1];
    }
    std::size_t requests = 0;
    std::size_t pods = 0;
    for (std::uint64_t number = 0; number < schedules; ++number, ++setting.seed) {
        const auto verdict = rdmanet::model::explore(setting);
        requests += verdict.requests;
        pods += verdict.pods;
        for (const std::string& line : verdict.trace) std::printf("%s\n", line.c_str());
        if (verdict.duplicate.empty()) continue;
        std::printf("seed %llu: %s\n", static_cast<unsigned long long>(setting.seed), verdict.duplicate.c_str());
        return 1;
    }
    std::printf("%llu schedules, %zu requests, %zu pods, no duplicate\n", static_cast<unsigned long long>(schedules),
                requests, pods);
    return 0;
}
