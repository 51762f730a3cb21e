// Addresses that nodes take from one API server at once, by store, beside the requests of whereabouts 0.9.4.
//
//   test/cluster/cluster.sh run cluster_bench [SECONDS] [NODES] [LINES]
//
// SECONDS for each line, default 5; NODES at most, default 200. With LINES, only those lines are measured whose
// "NODES/LEASES NAME" has this text: "1/50 ", "pools". Each ADD has its own connection, as a process has.
// It starts no process, so that programs and languages are not compared.
//
// Times depend on what else the machine does; processor time depends on it less. "server" is the API server's for each
// ADD, "own" is ours.
#include "api_server.hpp"
#include "whereabouts_replay.hpp"

#include "support/concat.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/cluster/blocks_store.hpp>
#include <rdmanet/cluster/pools_store.hpp>
#include <rdmanet/ipam/allocator.hpp>

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace rdmanet::test {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr unsigned kMostRecords = 4000; // in one pool
constexpr unsigned kMostOfNode = 2000;  // 250 pods with eight rails
constexpr unsigned kMostTimes = 1U << 20U;
constexpr const char* kSmallRange = "10.0.0.0/20";
constexpr const char* kLargeRange = "10.0.0.0/12";

class EverybodyLives : public ipam::LivenessProbe {
    ipam::Verdict probe(const ipam::Owner& /*owner*/) override { return {.liveness = ipam::Liveness::alive}; }
};

/// What the processes of one line share.
struct Shared {
    std::atomic<unsigned> ready;
    std::atomic<unsigned> done;
    std::atomic<unsigned> failed;
    std::atomic<unsigned long> own_cpu; // microseconds
    std::atomic<bool> has_begun;
    std::atomic<bool> has_ended;
    float milliseconds[kMostTimes];
};

ipam::Config config_of(const char* subnet, const std::string& space) {
    const base::IpPrefix prefix = base::IpPrefix::parse(subnet).value();
    ipam::Config config;
    config.ranges.push_back(
        {.range = {prefix, ipam::bounds_of(prefix, ipam::Edges::kept_free)}, .space = space, .gateway = std::nullopt});
    return config;
}

ipam::Owner owner(const std::string& pod) {
    return {.key = {.network = "net", .container_id = concat(std::string(48, 'c'), pod), .ifname = "net1"},
            .pod_namespace = "tenant-workloads",
            .pod_name = pod,
            .pod_uid = pod,
            .netns_path = "/run/netns/x",
            .boot_id = "boot"};
}

/// A node, from whose calls the ADDs come.
class Node {
public:
    explicit Node(std::string name) : name_(std::move(name)) {}
    Node(const Node&) = delete;
    Node& operator=(const Node&) = delete;
    virtual ~Node() = default;

    /// One ADD. Throws if it fails.
    virtual void add(const std::string& pod) = 0;

protected:
    static void allocate(ipam::Store& store, const char* subnet, const std::string& space, const std::string& pod) {
        EverybodyLives everybody;
        (void)ipam::Allocator(store, everybody)
            .allocate(config_of(subnet, space), owner(pod), {}, base::Deadline::in(std::chrono::seconds(30)));
    }
    std::string name_;
};

class ReplayNode : public Node {
public:
    ReplayNode(std::string name, std::string space)
        : Node(std::move(name)), space_(std::move(space)), access_(ApiServer::access("admin")) {}
    void add(const std::string& pod) override {
        WhereaboutsReplay(access_, space_, base::IpPrefix::parse(kSmallRange).value(), concat("tenant-workloads/", pod),
                          owner(pod).key.container_id)
            .add();
    }

private:
    std::string space_;
    kube::Access access_;
};

constexpr const char* kFiles = "/dev/shm/rdmanet-bench";

/// Of a node's files; it goes with this object.
class Directory {
public:
    explicit Directory(const std::string& node) : path_(concat(kFiles, '/', node)) { fs::create_directories(path_); }
    Directory(const Directory&) = delete;
    Directory& operator=(const Directory&) = delete;
    ~Directory() { fs::remove_all(path_); }
    [[nodiscard]] const std::string& path() const { return path_; }

private:
    std::string path_;
};

class PoolNode : public Node {
public:
    PoolNode(std::string name, std::string space) : Node(std::move(name)), space_(std::move(space)), files_(name_) {}
    void add(const std::string& pod) override {
        use([&](cluster::WhereaboutsStore& store) { allocate(store, kSmallRange, space_, pod); });
    }
    void del(const std::string& pod) {
        use([&](cluster::WhereaboutsStore& store) { (void)store.release(owner(pod).key, with_patience()); });
    }

private:
    template <class Act>
    void use(Act act) {
        kube::Api api(ApiServer::access("rdmanet"), http::Limits{});
        cluster::WhereaboutsStore store(api, {.name_space = "kube-system",
                                              .places = {{space_, base::IpPrefix::parse(kSmallRange).value()}},
                                              .also = {},
                                              .node = {.name = name_,
                                                       .uid = concat("uid-", name_),
                                                       .machine_id = concat("machine-", name_),
                                                       .boot_id = concat("boot-", name_)},
                                              .before_claim = [](const ipam::Lease&) {},
                                              .known_owner = {},
                                              .warn = {},
                                              .state_directory = files_.path()});
        act(store);
    }

    std::string space_;
    Directory files_;
};

class BlocksNode : public Node {
public:
    BlocksNode(std::string name, std::string space) : Node(std::move(name)), space_(std::move(space)), files_(name_) {}
    void add(const std::string& pod) override {
        std::unique_ptr<kube::Api> api;
        cluster::BlocksStore::Options options;
        options.api = [&]() -> kube::Api& {
            if (!api) api = std::make_unique<kube::Api>(ApiServer::access("rdmanet"), http::Limits{});
            return *api;
        };
        options.kubeconfig = "/k";
        options.node_name = name_;
        options.machine_id = concat("machine-", name_);
        options.boot_id = concat("boot-", name_);
        options.state_directory = files_.path();
        cluster::BlocksStore store(std::make_shared<ipam::BlockFile>(ipam::BlockFile::Options{
                                       .state_directory = files_.path(),
                                       .boot_id = options.boot_id,
                                       .known_leases = [] { return std::vector<ipam::Lease>(); }}),
                                   options);
        allocate(store, kLargeRange, space_, pod);
    }

private:
    std::string space_;
    Directory files_;
};

struct Scheme {
    const char* name;
    bool has_pool;
    std::function<std::unique_ptr<Node>(const std::string& name, const std::string& space)> make;
};

template <class T>
Scheme scheme(const char* name, bool has_pool) {
    return {name, has_pool,
            [](const std::string& node, const std::string& space) { return std::make_unique<T>(node, space); }};
}

struct Line {
    const Scheme& scheme;
    unsigned nodes;
    unsigned leases;
};

struct Outcome {
    unsigned adds = 0;
    unsigned failed = 0;
    double seconds = 0;
    double median = 0; // milliseconds
    double own_cpu_seconds = 0;
    Requests requests;

    [[nodiscard]] double rate() const { return adds / seconds; }
    [[nodiscard]] double each(double sum) const { return sum / std::max(1U, adds); }
};

/// Of this process, in microseconds.
unsigned long used_cpu() {
    rusage usage{};
    (void)::getrusage(RUSAGE_SELF, &usage);
    const auto microseconds = [](const timeval& time) { return time.tv_sec * 1'000'000L + time.tv_usec; };
    return static_cast<unsigned long>(microseconds(usage.ru_utime) + microseconds(usage.ru_stime));
}

void work(Shared& shared, const Line& line, const std::string& name, const std::string& space, unsigned most) {
    const std::unique_ptr<Node> node = line.scheme.make(name, space);
    const unsigned before = line.scheme.has_pool ? 0 : line.leases / line.nodes;
    for (unsigned number = 0; number < before; ++number) node->add(concat(name, "-before-", number));
    ++shared.ready;
    while (!shared.has_begun) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    for (unsigned number = 0; !shared.has_ended && shared.done + shared.failed < most; ++number) {
        const auto begun = Clock::now();
        const unsigned long cpu_before = used_cpu();
        try {
            node->add(concat(name, '-', number));
            shared.own_cpu += used_cpu() - cpu_before;
            const unsigned at = shared.done++;
            if (at < kMostTimes)
                shared.milliseconds[at] = std::chrono::duration<float, std::milli>(Clock::now() - begun).count();
        } catch (const base::Error& error) {
            if (shared.failed++ == 0) std::fprintf(stderr, "%s: %s\n", line.scheme.name, error.what());
        }
    }
}

/// With leases, and used once.
void make_pool(ApiServer& server, const Line& line, const std::string& space) {
    server.make_pool(space, kSmallRange, line.leases);
    PoolNode first(concat(space, "-first"), space);
    first.add("first");
    first.del("first");
}

/// Runs the line's nodes as processes until the time is over or there are `most` ADDs.
Outcome run(ApiServer& server, const Line& line, double seconds, unsigned most) {
    static int count = 0;
    const std::string space = concat("b", ::getpid(), "-", ++count);
    if (line.scheme.has_pool)
        make_pool(server, line, space);
    else
        server.declare_range(space, kLargeRange);
    for (unsigned number = 0; number < line.nodes; ++number) {
        const std::string name = concat(space, "-n", number);
        server.make_node(name, concat("boot-", name));
    }
    void* memory = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw base::SystemError("mmap", errno);
    auto& shared = *new (memory) Shared;
    std::vector<pid_t> processes;
    for (unsigned number = 0; number < line.nodes; ++number) {
        const pid_t child = ::fork();
        if (child == 0) {
            work(shared, line, concat(space, "-n", number), space, most);
            std::_Exit(0);
        }
        processes.push_back(child);
    }
    while (shared.ready < line.nodes) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    Outcome outcome;
    const Requests before = server.count();
    const auto begun = Clock::now();
    const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - begun).count(); };
    shared.has_begun = true;
    while (elapsed() < seconds && shared.done + shared.failed < most)
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    outcome.seconds = elapsed();
    outcome.adds = shared.done;
    outcome.failed = shared.failed;
    outcome.requests = server.count() - before;
    outcome.own_cpu_seconds = static_cast<double>(shared.own_cpu) / 1e6;
    shared.has_ended = true;
    for (const pid_t process : processes) {
        if (line.scheme.has_pool) (void)::kill(process, SIGKILL); // what it is at, nobody counts any more
        (void)::waitpid(process, nullptr, 0);
    }
    fs::remove_all(kFiles); // of those that were killed
    float* const times = shared.milliseconds;
    const unsigned counted = std::min(outcome.adds, kMostTimes);
    std::nth_element(times, times + counted / 2, times + counted);
    if (counted != 0) outcome.median = times[counted / 2];
    ::munmap(memory, sizeof(Shared));
    if (line.scheme.has_pool) server.delete_pool(space, kSmallRange);
    return outcome;
}

void print(const Line& line, const Outcome& outcome, double theirs) {
    const std::string ratio = theirs == 0 ? "-" : fmt::format("{:.1f}", outcome.rate() / theirs);
    std::printf("%-6u %-6u %-30s %10.1f %10s %10.1f %12.2f %10.2f %10.2f %7u\n", line.nodes, line.leases,
                line.scheme.name, outcome.rate(), ratio.c_str(), outcome.median, outcome.each(outcome.requests.all),
                outcome.each(1000 * outcome.requests.cpu_seconds), outcome.each(1000 * outcome.own_cpu_seconds),
                outcome.failed);
    std::fflush(stdout);
}

void measure(double seconds, unsigned most_nodes, const std::string& wanted) {
    ApiServer server;
    const Scheme replay = scheme<ReplayNode>("whereabouts 0.9.4's requests", true);
    const Scheme pools = scheme<PoolNode>("pools", true);
    const Scheme blocks = scheme<BlocksNode>("blocks", false);
    std::printf("%-6s %-6s %-30s %10s %10s %10s %12s %10s %10s %7s\n", "nodes", "leases", "", "ADDs/s", "ratio",
                "median ms", "requests/ADD", "server ms", "own ms", "failed");
    for (const unsigned leases : {50U, 2000U, 10'000U})
        for (const unsigned nodes : {1U, 20U, 200U}) {
            if (nodes > most_nodes || leases / nodes > kMostOfNode) continue;
            double theirs = 0;
            for (const Scheme* one : {&replay, &pools, &blocks}) {
                if (one->has_pool && leases > kMostRecords) continue;
                const Line line{*one, nodes, leases};
                if (concat(nodes, '/', leases, ' ', one->name).find(wanted) == std::string::npos) continue;
                const Outcome outcome = run(server, line, seconds, one->has_pool ? std::max(50U, nodes) : kMostTimes);
                if (one == &replay) theirs = outcome.rate();
                print(line, outcome, theirs);
            }
        }
}

} // namespace
} // namespace rdmanet::test

int main(int count, char** arguments) {
    using namespace rdmanet;
    if (!test::ApiServer::is_there()) {
        std::printf("cluster: not measured: run it by test/cluster/cluster.sh run\n");
        return 0;
    }
    try {
        test::measure(count > 1 ? std::atof(arguments[1]) : 5,
                      count > 2 ? static_cast<unsigned>(std::atoi(arguments[2])) : 200, count > 3 ? arguments[3] : "");
    } catch (const std::exception& error) {
        std::fprintf(stderr, "cluster_bench: %s\n", error.what());
        return 1;
    }
    return 0;
}
