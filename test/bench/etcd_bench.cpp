// Addresses that several nodes take from one etcd at once: a process with one connection for each.
//
//   test/cluster/etcd.sh run etcd_bench [CLIENTS] [ADDRESSES]      default: 16 clients, 500 addresses each
#include <rdmanet/cluster/etcd_store.hpp>
#include <rdmanet/ipam/allocator.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

namespace {

using namespace rdmanet;
using Clock = std::chrono::steady_clock;

constexpr double kGoal = 2000; // addresses a second

class EverybodyLives : public ipam::LivenessProbe {
    ipam::Verdict probe(const ipam::Owner& /*owner*/) override { return {.liveness = ipam::Liveness::alive}; }
};

std::string endpoint() {
    const char* directory = std::getenv("RDMANET_ETCD");
    std::string line;
    if (directory == nullptr) return line;
    std::ifstream file(std::string(directory) + "/one/endpoints");
    std::getline(file, line);
    return line;
}

ipam::Config a_range() {
    const base::IpPrefix subnet = base::IpPrefix::parse("10.0.0.0/16").value();
    ipam::Config config;
    config.ranges.push_back(
        {.range = {subnet, ipam::bounds_of(subnet, ipam::Edges::kept_free)}, .space = "", .gateway = std::nullopt});
    return config;
}

enum class Work { take, give_back };

void work(unsigned client, unsigned addresses, Work what, const std::string& prefix) {
    const std::string name = "n" + std::to_string(client);
    const auto deadline = base::Deadline::in(std::chrono::minutes(5));
    const auto store = cluster::make_etcd_store(
        {etcd::read_access({.endpoints = {endpoint()}}), etcd::Memory(), http::Limits{}}, {.prefix = prefix,
                                                                                           .machine_id = name,
                                                                                           .node_name = name,
                                                                                           .boot_id = "boot",
                                                                                           .spaces = {""},
                                                                                           .before_claim = {},
                                                                                           .warn = {}});
    const ipam::Config config = a_range();
    EverybodyLives everybody;
    for (unsigned number = 0; number < addresses; ++number) {
        const std::string pod = name + "-" + std::to_string(number);
        const ipam::Owner owner{.key = {.network = "net", .container_id = pod, .ifname = "net1"},
                                .pod_namespace = "default",
                                .pod_name = pod,
                                .pod_uid = pod,
                                .boot_id = "boot"};
        if (what == Work::take)
            (void)ipam::Allocator(*store, everybody).allocate(config, owner, {}, deadline);
        else
            (void)store->release(owner.key, deadline);
    }
}

/// Seconds until all clients are done; negative if one failed.
double run(unsigned clients, unsigned addresses, Work what, const std::string& prefix) {
    const auto begun = Clock::now();
    for (unsigned client = 0; client < clients; ++client) {
        const pid_t child = ::fork();
        if (child != 0) continue;
        try {
            work(client, addresses, what, prefix);
        } catch (const std::exception& error) {
            std::fprintf(stderr, "%s\n", error.what());
            std::_Exit(1);
        }
        std::_Exit(0);
    }
    bool has_failed = false;
    for (int status = 0; ::wait(&status) > 0;) has_failed |= status != 0;
    const double took = std::chrono::duration<double>(Clock::now() - begun).count();
    return has_failed ? -1 : took;
}

} // namespace

int main(int count, char** arguments) {
    const unsigned clients = count > 1 ? static_cast<unsigned>(std::atoi(arguments[1])) : 16;
    const unsigned each = count > 2 ? static_cast<unsigned>(std::atoi(arguments[2])) : 500;
    if (endpoint().empty()) {
        std::printf("etcd: not measured: run it by test/cluster/etcd.sh run\n");
        return 0;
    }
    const std::string prefix = "/rdmanet/bench" + std::to_string(::getpid());
    const double all = double{1} * clients * each;
    const double taking = run(clients, each, Work::take, prefix);
    const double giving = run(clients, each, Work::give_back, prefix);
    if (taking < 0 || giving < 0) return 1;
    std::printf("etcd: %u clients, %u addresses each: %.0f taken a second (goal %.0f: %s), %.0f given back a second\n",
                clients, each, all / taking, kGoal, all / taking >= kGoal ? "met" : "MISSED", all / giving);
    return 0;
}
