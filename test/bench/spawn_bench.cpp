// Whole-process times of the plugin beside what they are compared with, measured in the same rounds.
//
//   spawn_bench EMPTY_PROGRAM MINIMAL_ADD [ROUNDS]      root; in a network namespace of its own
//
// Each time is from before posix_spawn() to after wait(); every round takes all programs in a new random order, pinned to
// one processor; what is printed are medians. Standard output is a table for people.
#include "support/node.hpp"
#include "support/plugin_call.hpp"
#include "support/process.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/text.hpp>

#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace rdmanet::test {
namespace {

using base::concat;
namespace fs = std::filesystem;

const fs::path kDirectory = "/run/rdmanet-bench";
constexpr const char* kCniPath = "/usr/lib/cni";

struct Program {
    std::vector<std::string> arguments;
    std::vector<std::string> environment;
    std::string input = "/dev/null"; // path
};

struct Cost {
    double microseconds = 0;
    long peak_kib = 0;
};

std::vector<char*> pointers(const std::vector<std::string>& strings) {
    std::vector<char*> list;
    for (const std::string& string : strings) list.push_back(const_cast<char*>(string.c_str()));
    list.push_back(nullptr);
    return list;
}

Cost run_once(const Program& program) {
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, program.input.c_str(), O_RDONLY, 0);
    ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    const auto argv = pointers(program.arguments);
    const auto env = pointers(program.environment);
    pid_t child = 0;
    int status = 0;
    rusage usage{};
    const auto began = std::chrono::steady_clock::now();
    const int failed = ::posix_spawn(&child, argv[0], &actions, nullptr, argv.data(), env.data());
    if (failed != 0) throw base::SystemError(concat("spawn ", program.arguments[0]), failed);
    ::wait4(child, &status, 0, &usage);
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - began;
    ::posix_spawn_file_actions_destroy(&actions);
    if (status != 0) throw base::Error(concat(program.arguments[0], " failed, wait status ", status));
    return {took.count(), usage.ru_maxrss};
}

/// Programs of one round that belong together: the second undoes the first.
struct Series {
    std::vector<Program> programs;
    std::vector<std::vector<double>> times;
    long peak_kib = 0;
};

double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

void measure(std::vector<Series*> all, unsigned rounds) {
    std::mt19937 random(1); // NOLINT: the same order each time is wanted
    for (Series* series : all) {
        series->times.resize(series->programs.size());
        for (const Program& program : series->programs) (void)run_once(program); // warm
    }
    for (unsigned round = 0; round < rounds; ++round) {
        std::shuffle(all.begin(), all.end(), random);
        for (Series* series : all)
            for (std::size_t i = 0; i < series->programs.size(); ++i) {
                const Cost cost = run_once(series->programs[i]);
                series->times[i].push_back(cost.microseconds);
                series->peak_kib = std::max(series->peak_kib, cost.peak_kib);
            }
    }
}

void pin_to_one_processor() {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(0, &set);
    (void)::sched_setaffinity(0, sizeof set, &set);
}

std::string file_with(const std::string& name, const std::string& content) {
    const std::string path = kDirectory / name;
    std::ofstream(path) << content;
    return path;
}

std::vector<std::string> cni_environment(const std::string& command, const std::string& netns) {
    return {concat("CNI_COMMAND=", command),
            "CNI_CONTAINERID=bench-container",
            concat("CNI_NETNS=", netns),
            "CNI_IFNAME=net1",
            concat("CNI_PATH=", kCniPath),
            concat("PATH=", std::getenv("PATH")),
            concat("RDMANET_STATE_DIR=", (kDirectory / "state").string())};
}

Series cni_series(const std::string& plugin, const std::string& config, const std::string& netns) {
    Series series;
    for (const char* command : {"ADD", "DEL"})
        series.programs.push_back({{plugin}, cni_environment(command, netns), config});
    return series;
}

Series minimal_series(const std::string& program, const std::string& netns, const std::string& parent) {
    Series series;
    for (const char* command : {"ADD", "DEL"})
        series.programs.push_back({{program, command, netns, parent}, {}, "/dev/null"});
    return series;
}

void print_heading() {
    std::printf("%-44s %12s %12s %8s %8s\n", "", "ours", "theirs", "ratio", "goal");
}

void print_ratio(const char* what, double ours, double theirs, double goal) {
    const double ratio = ours / theirs;
    std::printf("%-44s %9.0f us %9.0f us %8.2f %8.2f  %s\n", what, ours, theirs, ratio, goal,
                ratio <= goal ? "met" : "MISSED");
}

/// What nobody gets below, as the kernel takes that long.
void print_floor(const char* what, double least, double theirs) {
    std::printf("%-44s %9.0f us %9.0f us %8.2f\n", what, least, theirs, least / theirs);
}

int run(const std::string& empty, const std::string& minimal, unsigned rounds) {
    fs::remove_all(kDirectory);
    fs::create_directories(kDirectory);
    const VethParent parent("bench0");
    const Pod pod("bench-pod");
    const std::string ours_config = file_with(
        "ours.json", concat(R"({"cniVersion":"1.0.0","name":"bench","type":"rdmanet","attach":"macvlan","master":")",
                            parent.name(), R"(","ipam":{"type":"rdmanet","range":"10.96.0.0/16"}})"));
    const std::string debian_config = file_with(
        "debian.json", concat(R"({"cniVersion":"1.0.0","name":"bench","type":"macvlan","mode":"bridge","master":")",
                              parent.name(), R"(","ipam":{"type":"host-local","dataDir":")",
                              (kDirectory / "host-local").string(), R"(","subnet":"10.95.0.0/16"}})"));
    Series nothing{.programs = {{{empty}, {}, "/dev/null"}}};
    Series version{.programs = {{{binary()}, {"CNI_COMMAND=VERSION"}, "/dev/null"}}};
    Series ours = cni_series(binary(), ours_config, pod.path());
    Series least = minimal_series(minimal, pod.path(), parent.name());
    const bool has_debian = fs::exists(concat(kCniPath, "/macvlan"));
    Series debian;
    if (has_debian) debian = cni_series(concat(kCniPath, "/macvlan"), debian_config, pod.path());

    pin_to_one_processor();
    measure({&nothing, &version}, rounds);
    std::vector<Series*> attachments{&ours, &least};
    if (has_debian) attachments.push_back(&debian);
    measure(attachments, rounds);

    const auto time_of = [](const Series& series, std::size_t which = 0) { return median(series.times[which]); };
    print_heading();
    print_ratio("VERSION : empty static C program", time_of(version), time_of(nothing), 1.3);
    print_ratio("macvlan ADD : same requests in C", time_of(ours, 0), time_of(least, 0), 1.5);
    print_ratio("macvlan DEL : same requests in C", time_of(ours, 1), time_of(least, 1), 1.5);
    if (has_debian) {
        print_ratio("macvlan ADD : Debian's macvlan + host-local", time_of(ours, 0), time_of(debian, 0), 0.2);
        print_floor("  same requests in C : Debian's", time_of(least, 0), time_of(debian, 0));
        print_ratio("macvlan DEL : Debian's macvlan + host-local", time_of(ours, 1), time_of(debian, 1), 0.2);
        print_floor("  same requests in C : Debian's", time_of(least, 1), time_of(debian, 1));
    } else {
        std::printf("%s/macvlan is missing (Debian package containernetworking-plugins)\n", kCniPath);
    }
    constexpr double kGoalMiB = 6;
    const double peak_mib = static_cast<double>(ours.peak_kib) / 1024;
    std::printf("%-44s %8.2f MiB %12s %8s %8.2f  %s\n", "peak memory of ADD and DEL", peak_mib, "", "", kGoalMiB,
                peak_mib <= kGoalMiB ? "met" : "MISSED");
    fs::remove_all(kDirectory);
    return 0;
}

} // namespace
} // namespace rdmanet::test

int main(int argc, char** argv) {
    try {
        if (argc < 3) throw rdmanet::base::Error("usage: spawn_bench EMPTY_PROGRAM MINIMAL_ADD [ROUNDS]");
        const unsigned long rounds = argc > 3 ? std::strtoul(argv[3], nullptr, 10) : 300;
        return rdmanet::test::run(argv[1], argv[2], static_cast<unsigned>(rounds));
    } catch (const std::exception& error) {
        std::fprintf(stderr, "spawn_bench: %s\n", error.what());
        return 1;
    }
}
