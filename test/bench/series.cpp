#include "series.hpp"

#include "calls.hpp"
#include "support/concat.hpp"
#include "support/plugin_call.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/text.hpp>

#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>

namespace rdmanet::test {
namespace {

namespace fs = std::filesystem;

/// In microseconds.
double run_once(const Program& program) {
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, program.input.c_str(), O_RDONLY, 0);
    ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    const auto argv = pointers_to(program.arguments);
    const auto env = pointers_to(program.environment);
    pid_t child = 0;
    int status = 0;
    const auto began = std::chrono::steady_clock::now();
    const int failed = ::posix_spawn(&child, argv[0], &actions, nullptr, argv.data(), env.data());
    if (failed != 0) throw base::SystemError(concat("spawn ", program.arguments[0]), failed);
    ::waitpid(child, &status, 0);
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - began;
    ::posix_spawn_file_actions_destroy(&actions);
    if (status != 0) throw base::Error(concat(program.arguments[0], " failed, wait status ", status));
    return took.count();
}

std::vector<std::string> cni_environment(const std::string& command, const std::string& netns) {
    return {concat("CNI_COMMAND=", command),
            "CNI_CONTAINERID=bench-container",
            concat("CNI_NETNS=", netns),
            "CNI_IFNAME=net1",
            concat("CNI_PATH=", kCniPath),
            concat("PATH=", std::getenv("PATH")),
            concat("RDMANET_STATE_DIR=", (BenchDirectory::path() / "state").string())};
}

void print_counts(const std::string& what, std::size_t ours, std::size_t theirs) {
    std::printf("%-44s %12zu %12zu %8.2f\n", what.c_str(), ours, theirs,
                static_cast<double>(ours) / static_cast<double>(theirs));
}

double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

} // namespace

std::vector<char*> pointers_to(const std::vector<std::string>& strings) {
    std::vector<char*> list;
    for (const std::string& string : strings) list.push_back(const_cast<char*>(string.c_str()));
    list.push_back(nullptr);
    return list;
}

BenchDirectory::BenchDirectory() {
    fs::remove_all(path());
    fs::create_directories(path());
}

BenchDirectory::~BenchDirectory() {
    std::error_code ignored;
    fs::remove_all(path(), ignored);
}

fs::path BenchDirectory::path() {
    return "/run/rdmanet-bench";
}

std::string BenchDirectory::file_with(const std::string& name, const std::string& content) {
    const std::string file = path() / name;
    std::ofstream(file) << content;
    return file;
}

void measure(std::vector<Series*> all, unsigned rounds) {
    std::mt19937 random(1); // NOLINT: every run must use the same order
    for (Series* series : all) {
        series->times.resize(series->programs.size());
        for (const Program& program : series->programs) (void)run_once(program); // warm up
    }
    for (unsigned round = 0; round < rounds; ++round) {
        std::shuffle(all.begin(), all.end(), random);
        for (Series* series : all)
            for (std::size_t i = 0; i < series->programs.size(); ++i)
                series->times[i].push_back(run_once(series->programs[i]));
    }
}

void pin_to_one_processor() {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(0, &set);
    (void)::sched_setaffinity(0, sizeof set, &set);
}

Series cni_series(const std::string& plugin, const std::string& config, const std::string& netns,
                  const std::vector<std::string>& commands) {
    Series series;
    for (const std::string& command : commands)
        series.programs.push_back({{plugin}, cni_environment(command, netns), config});
    return series;
}

Series minimal_series(const std::string& program, const std::string& netns, const std::string& parent) {
    Series series;
    for (const char* command : {"ADD", "DEL"})
        series.programs.push_back({{program, command, netns, parent}, {}, "/dev/null"});
    return series;
}

std::string host_local(const std::string& subnet) {
    return concat(R"("ipam":{"type":"host-local","dataDir":")", (BenchDirectory::path() / "host-local").string(),
                  R"(","subnet":")", subnet, R"("})");
}

std::string macvlan_config(const std::string& parent, const std::string& more) {
    return concat(R"({"cniVersion":"1.1.0","name":"bench","type":"rdmanet","attach":"macvlan","master":")", parent,
                  R"(",)", more, R"("ipam":{"type":"rdmanet","range":"10.96.0.0/16"}})");
}

double time_of(const Series& series, std::size_t which) {
    return median(series.times.at(which));
}

double peak_mib_of(const Program& program) {
    const auto argv = pointers_to(program.arguments);
    const auto env = pointers_to(program.environment);
    const pid_t child = ::fork();
    if (child < 0) throw base::SystemError("fork", errno);
    if (child == 0) {
        (void)::dup2(::open(program.input.c_str(), O_RDONLY), STDIN_FILENO);
        (void)::dup2(::open("/dev/null", O_WRONLY), STDOUT_FILENO);
        ::execve(argv[0], argv.data(), env.data());
        ::_exit(127);
    }
    int status = 0;
    rusage usage{};
    ::wait4(child, &status, 0, &usage);
    if (status != 0) throw base::Error(concat(program.arguments[0], " failed, wait status ", status));
    return static_cast<double>(usage.ru_maxrss) / 1024;
}

void print_heading() {
    std::printf("%-44s %12s %12s %8s %8s\n", "", "ours", "theirs", "ratio", "goal");
}

void print_ratio(const char* what, double ours, double theirs, double goal) {
    const double ratio = ours / theirs;
    std::printf("%-44s %9.0f us %9.0f us %8.2f %8.2f  %s\n", what, ours, theirs, ratio, goal,
                ratio <= goal ? "met" : "MISSED");
}

void print_floor(const char* what, double least, double theirs) {
    std::printf("%-44s %9.0f us %9.0f us %8.2f\n", what, least, theirs, least / theirs);
}

void print_calls(const char* what, const Series& ours, const Series& theirs) {
    std::vector<Calls> counts;
    for (const Series* series : {&ours, &theirs}) {
        const Program counted = traced(series->programs.at(0));
        if (!fs::exists(counted.arguments.at(0))) {
            std::printf("%s: system calls are not counted, %s is missing (Debian package strace)\n", what,
                        counted.arguments.at(0).c_str());
            return;
        }
        (void)run_once(counted);
        counts.push_back(read_calls());
        (void)run_once(series->programs.at(1));
    }
    print_counts(concat(what, ", system calls"), counts[0].all, counts[1].all);
    print_counts(concat(what, ", netlink requests"), counts[0].netlink, counts[1].netlink);
}

} // namespace rdmanet::test
