// A cluster that starts: all nodes take addresses from blocks of one range at the same moment.
//
//   test/cluster/cluster.sh run start_bench [NODES] [ATTACHMENTS] [THREADS]      default: 10000, 8, 64
//
// One process is all nodes. Each has a connection, a state directory in memory, and a Node object made before.
// `reconcile` has run since the range was declared. An ADD that fails is repeated, as kubelet does. The threads stand
// for what the processors of many nodes do at a time.
#include "api_server.hpp"

#include "support/concat.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/cluster/blocks_store.hpp>
#include <rdmanet/cluster/reconcile.hpp>
#include <rdmanet/ipam/allocator.hpp>

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace rdmanet::test {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr const char* kRange = "10.0.0.0/11";
constexpr double kGoal = 60; // seconds
constexpr int kMostTries = 100;
constexpr unsigned kDescriptors = 65536;

class EverybodyLives : public ipam::LivenessProbe {
    ipam::Verdict probe(const ipam::Owner& /*owner*/) override { return {.liveness = ipam::Liveness::alive}; }
};

ipam::Config config_of(const std::string& space) {
    const base::IpPrefix prefix = base::IpPrefix::parse(kRange).value();
    ipam::Config config;
    config.ranges.push_back(
        {.range = {prefix, ipam::bounds_of(prefix, ipam::Edges::kept_free)}, .space = space, .gateway = std::nullopt});
    return config;
}

class Node {
public:
    Node(std::string space, unsigned number)
        : name_(concat(space, "-n", number)), boot_(concat("boot-", name_)), config_(config_of(space)),
          directory_(concat("/dev/shm/rdmanet-start/", name_)) {}

    [[nodiscard]] const std::string& name() const { return name_; }
    [[nodiscard]] const std::string& boot() const { return boot_; }

    /// One ADD; each opens the files anew, as a process does.
    [[nodiscard]] std::string add(unsigned attachment) {
        fs::create_directories(directory_);
        cluster::BlocksStore::Options options;
        options.api = [&]() -> kube::Api& {
            static const kube::Access access = ApiServer::access("rdmanet");
            if (!api_) api_ = std::make_unique<kube::Api>(access, http::Limits{});
            return *api_;
        };
        options.kubeconfig = "/k";
        options.node_name = name_;
        options.machine_id = concat("machine-", name_);
        options.boot_id = boot_;
        options.state_directory = directory_;
        auto file = std::make_shared<ipam::BlockFile>(
            ipam::BlockFile::Options{.state_directory = directory_, .boot_id = boot_, .known_leases = [] {
                                         return std::vector<ipam::Lease>();
                                     }});
        cluster::BlocksStore store(std::move(file), options);
        EverybodyLives everybody;
        const std::string pod = concat(name_, '-', attachment);
        const ipam::Owner owner{.key = {.network = "net", .container_id = pod, .ifname = "net1"},
                                .pod_namespace = "default",
                                .pod_name = pod,
                                .pod_uid = pod,
                                .netns_path = "/run/netns/x",
                                .boot_id = boot_};
        const auto allocation = ipam::Allocator(store, everybody)
                                    .allocate(config_, owner, {}, base::Deadline::in(std::chrono::seconds(30)));
        return allocation.leases.front().address.to_string();
    }

private:
    std::string name_;
    std::string boot_;
    ipam::Config config_;
    std::string directory_;
    std::unique_ptr<kube::Api> api_;
};

/// Calls `act` for each node, by so many threads.
void by_threads(std::vector<std::unique_ptr<Node>>& nodes, unsigned count, const std::function<void(Node&)>& act) {
    std::atomic<std::size_t> next{0};
    std::vector<std::thread> threads;
    for (unsigned number = 0; number < count; ++number)
        threads.emplace_back([&] {
            for (std::size_t at = next++; at < nodes.size(); at = next++) act(*nodes[at]);
        });
    for (std::thread& thread : threads) thread.join();
}

void allow_many_descriptors() {
    rlimit limit{.rlim_cur = kDescriptors, .rlim_max = kDescriptors};
    if (::setrlimit(RLIMIT_NOFILE, &limit) == 0) return;
    (void)::getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    (void)::setrlimit(RLIMIT_NOFILE, &limit);
}

void measure(unsigned count, unsigned attachments, unsigned threads) {
    allow_many_descriptors();
    ApiServer server;
    const std::string space = concat("s", ::getpid());
    std::vector<std::unique_ptr<Node>> nodes;
    for (unsigned number = 0; number < count; ++number) nodes.push_back(std::make_unique<Node>(space, number));
    {
        std::atomic<std::size_t> next{0};
        std::vector<std::thread> makers;
        for (int number = 0; number < 4; ++number)
            makers.emplace_back([&] {
                ApiServer own;
                for (std::size_t at = next++; at < nodes.size(); at = next++)
                    own.make_node(nodes[at]->name(), nodes[at]->boot());
            });
        for (std::thread& maker : makers) maker.join();
    }
    server.declare_range(space, kRange);
    const auto reconciler = ApiServer::connect("admin");
    (void)cluster::reconcile(*reconciler, {}, with_patience());
    std::printf("%u Node objects are there\n", count);
    std::fflush(stdout);

    std::mutex mutex;
    std::vector<std::string> addresses;
    std::atomic<unsigned> failures{0};
    const Requests before = server.count();
    const auto begun = Clock::now();
    by_threads(nodes, threads, [&](Node& node) {
        for (unsigned attachment = 0; attachment < attachments; ++attachment)
            for (int attempt = 1;; ++attempt) try {
                    std::string address = node.add(attachment);
                    const std::lock_guard lock(mutex);
                    addresses.push_back(std::move(address));
                    break;
                } catch (const base::Error& error) {
                    if (failures++ == 0) std::fprintf(stderr, "start_bench: %s\n", error.what());
                    if (attempt == kMostTries) return;
                }
    });
    const double took = std::chrono::duration<double>(Clock::now() - begun).count();
    const Requests requests = server.count() - before;
    std::sort(addresses.begin(), addresses.end());
    const auto duplicates = addresses.end() - std::unique(addresses.begin(), addresses.end());
    nodes.clear();
    fs::remove_all("/dev/shm/rdmanet-start");
    const bool is_met = duplicates == 0 && addresses.size() == std::size_t{count} * attachments && took < kGoal;
    std::printf("%-44s %12s %12s %12s %12s %12s\n", "a cluster starts", "addresses", "seconds", "duplicates",
                "requests", "repeated");
    std::printf("%-44s %12zu %12.1f %12td %12.0f %12u  %s\n",
                concat(count, " nodes, ", attachments, " attachments each").c_str(), addresses.size(), took, duplicates,
                requests.all, failures.load(), is_met ? "met" : "MISSED");
}

} // namespace
} // namespace rdmanet::test

int main(int count, char** arguments) {
    using namespace rdmanet;
    if (!test::ApiServer::is_there()) {
        std::printf("a cluster that starts: not measured: run it by test/cluster/cluster.sh run\n");
        return 0;
    }
    const auto number = [&](int at, unsigned otherwise) {
        return count > at ? static_cast<unsigned>(std::atoi(arguments[at])) : otherwise;
    };
    try {
        test::measure(number(1, 10'000), number(2, 8), number(3, 64));
    } catch (const std::exception& error) {
        std::fprintf(stderr, "start_bench: %s\n", error.what());
        return 1;
    }
    return 0;
}
