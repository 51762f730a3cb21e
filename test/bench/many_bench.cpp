// What many attachments on one node cost: an ADD beside them, the commands that are about all of them, and many ADDs at
// once.
//
//   many_bench MINIMAL_ADD [ROUNDS] [ATTACHMENTS] [ADDS_AT_ONCE]      as root, in its own network namespace
//
// Every attachment has a pod of its own. The C program shows how much of a growth is the kernel's.
#include "series.hpp"
#include "support/concat.hpp"
#include "support/node.hpp"
#include "support/plugin_call.hpp"

#include <rdmanet/base/error.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <string>
#include <vector>

namespace rdmanet::test {
namespace {

using Clock = std::chrono::steady_clock;

double microseconds_since(Clock::time_point began) {
    return std::chrono::duration<double, std::micro>(Clock::now() - began).count();
}

/// Pods without processes. `ip` makes and deletes all of them in one process.
class Pods {
public:
    Pods(std::string prefix, unsigned count) : prefix_(std::move(prefix)), count_(count) { for_all("add"); }
    Pods(const Pods&) = delete;
    Pods& operator=(const Pods&) = delete;
    ~Pods() {
        try {
            for_all("del");
        } catch (const std::exception& error) {
            std::fprintf(stderr, "many_bench: %s\n", error.what());
        }
    }

    [[nodiscard]] unsigned count() const { return count_; }
    [[nodiscard]] std::string name(unsigned number) const { return concat(prefix_, number); }
    [[nodiscard]] std::string path(unsigned number) const { return concat("/run/netns/", name(number)); }

private:
    void for_all(const char* what) const {
        std::string commands;
        for (unsigned number = 0; number < count_; ++number)
            commands += concat("netns ", what, ' ', name(number), '\n');
        ip_batch(commands);
    }

    std::string prefix_;
    unsigned count_;
};

std::string state_directory() {
    return concat("RDMANET_STATE_DIR=", (BenchDirectory::path() / "state").string());
}

PluginCall call_for(const Pods& pods, unsigned number, const std::string& plugin, const std::string& config) {
    PluginCall call;
    call.program = plugin;
    call.container = pods.name(number);
    call.netns = pods.path(number);
    call.config = config;
    call.more_environment = {state_directory()};
    return call;
}

void run_or_throw(const PluginCall& call) {
    const ProcessResult result = call.run();
    if (result.exit_status != 0)
        throw base::Error(concat(call.program, ' ', call.command, " of ", call.container, ": ", error_of(result)));
}

void delete_all(const Pods& pods, const std::string& plugin, const std::string& config) {
    for (unsigned number = 0; number < pods.count(); ++number)
        run_or_throw(call_for(pods, number, plugin, config).with_command("DEL"));
}

struct AtOnce {
    double all = 0;     // microseconds
    double slowest = 0; // microseconds
};

/// Starts an ADD for every pod at the same moment. Removes the attachments afterwards.
AtOnce add_at_once(const Pods& pods, const std::string& plugin, const std::string& config) {
    std::vector<std::future<double>> adds;
    const auto began = Clock::now();
    for (unsigned number = 0; number < pods.count(); ++number)
        adds.push_back(std::async(std::launch::async, [&, number] {
            const auto began_one = Clock::now();
            run_or_throw(call_for(pods, number, plugin, config));
            return microseconds_since(began_one);
        }));
    AtOnce times;
    for (auto& add : adds) times.slowest = std::max(times.slowest, add.get());
    times.all = microseconds_since(began);
    delete_all(pods, plugin, config);
    return times;
}

/// The key of GC that names all of them.
std::string valid_attachments(const Pods& pods) {
    std::string list;
    for (unsigned number = 0; number < pods.count(); ++number)
        list += concat(number == 0 ? "" : ",", R"({"containerID":")", pods.name(number), R"(","ifname":"net1"})");
    return concat(R"("cni.dev/valid-attachments":[)", list, "],");
}

Series command_series(const char* command) {
    return {.programs = {{{binary(), command}, {state_directory()}, "/dev/null"}}};
}

void print_time(const std::string& what, double took, double goal) {
    std::printf("%-44s %9.0f us %12s %8s %6.0f ms  %s\n", what.c_str(), took, "", "", goal / 1000,
                took <= goal ? "met" : "MISSED");
}

void measure_commands(const std::string& parent, const Pods& pods, unsigned rounds) {
    constexpr double kGoal = 300'000; // microseconds
    constexpr unsigned kMostRounds = 15;
    Series state = command_series("state");
    Series gc = command_series("gc");
    Series check = command_series("check");
    Series cni_gc = cni_series(
        binary(), BenchDirectory::file_with("gc.json", macvlan_config(parent, valid_attachments(pods))), "", {"GC"});
    measure({&state, &gc, &check, &cni_gc}, std::min(rounds, kMostRounds));
    const std::string of_all = concat(" of ", pods.count(), " attachments");
    print_time(concat("state", of_all), time_of(state), kGoal);
    print_time(concat("gc", of_all), time_of(gc), kGoal);
    print_time(concat("CNI GC", of_all), time_of(cni_gc), kGoal);
    print_time(concat("check", of_all), time_of(check), kGoal);
}

/// Measures the node without attachments before and after, because the machine may become slower or faster meanwhile.
void measure_many(const std::string& minimal, const std::string& parent, unsigned rounds, unsigned attachments) {
    const std::string config = macvlan_config(parent);
    const std::string file = BenchDirectory::file_with("ours.json", config);
    const Pod pod("bench-pod");
    Series without = cni_series(binary(), file, pod.path());
    Series with = cni_series(binary(), file, pod.path());
    Series least_without = minimal_series(minimal, pod.path(), parent);
    Series least_with = minimal_series(minimal, pod.path(), parent);
    measure({&without, &least_without}, rounds);
    const Pods pods("bench-many-", attachments);
    for (unsigned number = 0; number < attachments; ++number) run_or_throw(call_for(pods, number, binary(), config));
    measure({&with, &least_with}, rounds);
    measure_commands(parent, pods, rounds);
    delete_all(pods, binary(), config);
    measure({&without, &least_without}, rounds);
    const std::string beside = concat("beside ", attachments, " others : none");
    for (const std::size_t which : {0U, 1U}) {
        const double growth_of_kernel = time_of(least_with, which) - time_of(least_without, which);
        print_ratio(concat(which == 0 ? "ADD " : "DEL ", beside).c_str(), time_of(with, which), time_of(without, which),
                    1.1);
        print_floor("  same requests in C", time_of(least_with, which), time_of(least_without, which));
        print_floor("  without what these requests take longer", time_of(with, which) - growth_of_kernel,
                    time_of(without, which));
    }
}

void measure_at_once(const std::string& parent, unsigned adds) {
    const std::string debian = concat(kCniPath, "/macvlan");
    const Pods pods("bench-once-", adds);
    const AtOnce ours = add_at_once(pods, binary(), macvlan_config(parent));
    print_time(concat("slowest of ", adds, " ADDs at once"), ours.slowest, 2'000'000);
    if (!std::filesystem::exists(debian)) {
        std::printf("%s is missing (Debian package containernetworking-plugins)\n", debian.c_str());
        return;
    }
    const AtOnce theirs =
        add_at_once(pods, debian,
                    concat(R"({"cniVersion":"1.0.0","name":"bench","type":"macvlan","mode":"bridge","master":")",
                           parent, R"(",)", host_local("10.95.0.0/16"), '}'));
    print_ratio(concat(adds, " ADDs at once : Debian's chain").c_str(), ours.all, theirs.all, 0.2);
}

int run(const std::string& minimal, unsigned rounds, unsigned attachments, unsigned adds) {
    const BenchDirectory files;
    const VethParent parent("bench0");
    print_heading();
    measure_at_once(parent.name(), adds);
    pin_to_one_processor();
    measure_many(minimal, parent.name(), rounds, attachments);
    return 0;
}

} // namespace
} // namespace rdmanet::test

int main(int argc, char** argv) {
    const auto number = [&](int at, unsigned otherwise) {
        return argc > at ? static_cast<unsigned>(std::strtoul(argv[at], nullptr, 10)) : otherwise;
    };
    try {
        if (argc < 2) throw rdmanet::base::Error("usage: many_bench MINIMAL_ADD [ROUNDS] [ATTACHMENTS] [ADDS_AT_ONCE]");
        return rdmanet::test::run(argv[1], number(2, 300), number(3, 1500), number(4, 100));
    } catch (const std::exception& error) {
        std::fprintf(stderr, "many_bench: %s\n", error.what());
        return 1;
    }
}
