// Times of whole processes of the plugin and of its peers, measured in the same rounds.
//
//   spawn_bench EMPTY_PROGRAM MINIMAL_ADD [ROUNDS]      as root, in its own network namespace
//
// It runs on one processor and prints a table of medians.
#include "series.hpp"
#include "support/concat.hpp"
#include "support/node.hpp"
#include "support/plugin_call.hpp"

#include <rdmanet/base/error.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace rdmanet::test {
namespace {

namespace fs = std::filesystem;

int run(const std::string& empty, const std::string& minimal, unsigned rounds) {
    const BenchDirectory files;
    const VethParent parent("bench0");
    const Pod pod("bench-pod");
    const std::string our_config = BenchDirectory::file_with("ours.json", macvlan_config(parent.name()));
    const std::string debian_config = BenchDirectory::file_with(
        "debian.json", concat(R"({"cniVersion":"1.0.0","name":"bench","type":"macvlan","mode":"bridge","master":")",
                              parent.name(), R"(",)", host_local("10.95.0.0/16"), '}'));
    Series nothing{.programs = {{{empty}, {}, "/dev/null"}}};
    Series version{.programs = {{{binary()}, {"CNI_COMMAND=VERSION"}, "/dev/null"}}};
    Series status = cni_series(binary(), our_config, "", {"STATUS"});
    Series ours = cni_series(binary(), our_config, pod.path());
    Series least = minimal_series(minimal, pod.path(), parent.name());
    const bool has_debian = fs::exists(concat(kCniPath, "/macvlan"));
    Series debian;
    if (has_debian) debian = cni_series(concat(kCniPath, "/macvlan"), debian_config, pod.path());

    pin_to_one_processor();
    measure({&nothing, &version, &status}, rounds);
    std::vector<Series*> attachments{&ours, &least};
    if (has_debian) attachments.push_back(&debian);
    measure(attachments, rounds);

    print_heading();
    print_ratio("VERSION : empty static C program", time_of(version), time_of(nothing), 1.35);
    print_ratio("macvlan STATUS : empty static C program", time_of(status), time_of(nothing), 1.4);
    print_ratio("macvlan ADD : same requests in C", time_of(ours, 0), time_of(least, 0), 1.6);
    print_ratio("macvlan DEL : same requests in C", time_of(ours, 1), time_of(least, 1), 1.15);
    if (has_debian) {
        print_ratio("macvlan ADD : Debian's macvlan + host-local", time_of(ours, 0), time_of(debian, 0), 0.2);
        print_floor("  same requests in C : Debian's", time_of(least, 0), time_of(debian, 0));
        print_floor("macvlan DEL : Debian's macvlan + host-local", time_of(ours, 1), time_of(debian, 1));
        print_floor("  same requests in C : Debian's", time_of(least, 1), time_of(debian, 1));
        print_calls("macvlan ADD", ours, debian);
    } else {
        std::printf("%s/macvlan is missing (Debian package containernetworking-plugins)\n", kCniPath);
    }
    constexpr double kGoalMiB = 3.5;
    const double peak_mib = std::max(peak_mib_of(ours.programs[0]), peak_mib_of(ours.programs[1]));
    std::printf("%-44s %8.2f MiB %12s %8s %8.2f  %s\n", "peak memory of ADD and DEL", peak_mib, "", "", kGoalMiB,
                peak_mib <= kGoalMiB ? "met" : "MISSED");
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
