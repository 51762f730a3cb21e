#include "model/world.hpp"

#include "model/fake_node.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/cluster/blocks_store.hpp>
#include <rdmanet/cluster/pools_store.hpp>
#include <rdmanet/cluster/ranges.hpp>
#include <rdmanet/ipam/store/block_file.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace rdmanet::model {
namespace {

using cluster::BlocksStore;
using cluster::WhereaboutsStore;
using ipam::Lease;

constexpr const char* kRangePath = "/apis/rdmanet.cni/v1alpha1/addressranges/pods";
constexpr const char* kPools = "/apis/whereabouts.cni.cncf.io/v1alpha1/namespaces/kube-system/ippools/";
constexpr const char* kNodes = "/api/v1/nodes/";
constexpr std::int64_t kTick = 60;

/// Four addresses, of which two networks have ranges that overlap.
struct Network {
    std::string subnet;
};
const std::vector<Network> kNetworks{{"10.0.0.0/30"}, {"10.0.0.0/31"}};

base::Deadline soon() {
    return base::Deadline::in(std::chrono::hours(1));
}

struct Pod {
    std::string container;
    base::IpAddress address;
    cluster::Keeper keeper;
    std::size_t network;
};

class World;

class ModelNode {
public:
    ModelNode(World& world, std::size_t number);

    void add(std::size_t network);
    void remove(const Pod& pod);
    void confirm();
    void reboot();

    [[nodiscard]] std::string why_in_use(const base::IpPrefix& addresses,
                                         const std::vector<base::IpAddress>& known) const;

    std::string name;
    std::string machine;
    std::string boot;
    int boots = 0;
    int adds_left = 0;
    std::vector<Pod> pods;
    Fiber fiber;
    std::string doing;
    /// What a killed ADD may have left, which its DEL gives back.
    std::vector<std::pair<std::string, std::size_t>> owed;

private:
    [[nodiscard]] cluster::Place place_of(std::size_t network) const;
    [[nodiscard]] ipam::Claim claim_of(std::size_t network) const;
    [[nodiscard]] ipam::Owner owner_of(const std::string& container) const;
    [[nodiscard]] std::shared_ptr<ipam::BlockFile> file() const;
    [[nodiscard]] std::unique_ptr<BlocksStore> blocks();
    [[nodiscard]] std::unique_ptr<WhereaboutsStore> pools(std::size_t network);

    World& world_;
    int containers_ = 0;
    kube::Api api_;
};

class World {
public:
    explicit World(const Setting& setting) : setting_(setting), random_(setting.seed), changes_(setting.changes) {
        files = Files();
        server_.decide = [this](const std::string& request) { return decide(request); };
        server_.lag = [this] { return any(4) == 0 ? any(4) : std::size_t{0}; };
        server_.is_off = [this](const std::string& rule) { return rule == setting_.without; };
        server_.trace = [this](const std::string& text) { say(text); };
        server = &server_;
        wait_for_lock = [this] {
            Fiber::pause();
            if (is_ending_) throw Killed{};
        };
        for (std::size_t number = 0; number < setting.nodes; ++number) {
            nodes_.push_back(std::make_unique<ModelNode>(*this, number));
            nodes_.back()->adds_left = setting.adds;
            report(*nodes_.back());
        }
        if (any(2) == 0) apply();
    }

    Verdict run() {
        for (int steps = 0; steps < 3000 && verdict_.duplicate.empty(); ++steps)
            if (!step()) break;
        end_all();
        verdict_.requests = server_.requests;
        return std::move(verdict_);
    }

    void report(const ModelNode& node) {
        server_.put(kNodes + node.name,
                    {{"metadata", {{"uid", "node-" + node.name}}},
                     {"status", {{"nodeInfo", {{"machineID", node.machine}, {"bootID", node.boot}}}}}});
    }

    void say(const std::string& text) {
        if (setting_.is_traced) verdict_.trace.push_back(text);
    }
    [[nodiscard]] bool is_off(const char* rule) const { return setting_.without == rule; }

    void look_for_duplicates() {
        ++verdict_.pods;
        std::map<base::IpAddress, std::string> seen;
        for (const auto& node : nodes_)
            for (const Pod& pod : node->pods) {
                const auto [at, is_new] = seen.emplace(pod.address, pod.container);
                if (!is_new && verdict_.duplicate.empty())
                    verdict_.duplicate =
                        fmt::format("{} and {} have {}", at->second, pod.container, pod.address.to_string());
            }
    }

    std::int64_t now = 1000;

private:
    std::size_t any(std::size_t below) { return random_() % below; }

    /// Whoever is in the middle of something is killed there.
    void end_all() {
        is_ending_ = true;
        for (const auto& node : nodes_)
            while (node->fiber.is_running()) go_on(*node);
    }

    Fate decide(const std::string& request) {
        say(fmt::format("    {}: {}", running_->name, request));
        Fiber::pause();
        if (is_ending_) return Fate::killed;
        switch (any(60)) {
        case 0: return Fate::killed;
        case 1: return Fate::killed_late;
        case 2: return Fate::lost;
        case 3: return Fate::late;
        case 4: return Fate::silent;
        default: return Fate::answered;
        }
    }

    /// False: nothing is left to do.
    bool step() {
        std::vector<std::function<void()>> choices;
        for (const auto& node : nodes_) {
            if (node->fiber.is_running()) {
                for (int weight = 0; weight < 4; ++weight) choices.emplace_back([&] { go_on(*node); });
                continue;
            }
            offer(*node, choices);
        }
        if (server_.has_late_request()) choices.emplace_back([&] { server_.carry_out_late_request(); });
        if (choices.empty()) return false;
        if (changes_ > 0) {
            choices.emplace_back([&] { administrate(); });
            choices.emplace_back([&] { now += kTick * static_cast<std::int64_t>(1 + any(4)); });
        }
        choices[any(choices.size())]();
        return true;
    }

    void offer(ModelNode& node, std::vector<std::function<void()>>& choices) {
        const std::size_t network = any(kNetworks.size());
        if (node.adds_left > 0)
            choices.emplace_back([this, &node, network] {
                --node.adds_left;
                begin(node, fmt::format("ADD of {}", kNetworks[network].subnet), [&node, network] { node.add(network); });
            });
        if (!node.pods.empty())
            choices.emplace_back([this, &node] {
                const Pod pod = node.pods[any(node.pods.size())];
                begin(node, "DEL of " + pod.address.to_string(), [&node, pod] { node.remove(pod); });
            });
        if (changes_ > 0) {
            choices.emplace_back([this, &node] { begin(node, "confirmation", [&node] { node.confirm(); }); });
            if (any(20) == 0)
                choices.emplace_back([this, &node] {
                    --changes_;
                    say(node.name + " reboots");
                    node.reboot();
                    report(node);
                });
        }
    }

    void begin(ModelNode& node, std::string what, std::function<void()> call) {
        say(fmt::format("{}: {} begins", node.name, what));
        node.doing = std::move(what);
        node.fiber.begin([this, &node, call = std::move(call)] {
            try {
                call();
                say(fmt::format("{}: {} ends", node.name, node.doing));
            } catch (const Killed&) {
                say(fmt::format("{}: {} is killed", node.name, node.doing));
            } catch (const base::Error& error) {
                say(fmt::format("{}: {} fails: {}", node.name, node.doing, error.what()));
            }
        });
        go_on(node);
    }

    void go_on(ModelNode& node) {
        running_ = &node;
        node.fiber.go_on();
    }

    void apply() {
        const bool is_large = any(4) != 0;
        say("the administrator applies the range");
        server_.put(kRangePath, {{"metadata", nlohmann::json::object()},
                                 {"spec", {{"range", "10.0.0.0/30"}, {"blockSize", is_large ? 1 : 2}}}});
    }

    void administrate() {
        --changes_;
        if (any(4) == 0) return delete_empty_pool();
        if (!server_.objects().contains(kRangePath)) return apply();
        say("the administrator deletes the range");
        server_.erase(kRangePath);
    }

    void delete_empty_pool() {
        for (const char* name : {"10.0.0.0-30", "10.0.0.0-31"}) {
            const auto pool = server_.objects().find(std::string(kPools) + name);
            if (pool == server_.objects().end() || !pool->second["spec"]["allocations"].empty()) continue;
            say(fmt::format("the administrator deletes the empty pool {}", name));
            return server_.erase(std::string(kPools) + name);
        }
    }

    Setting setting_;
    std::mt19937_64 random_;
    int changes_;
    FakeServer server_;
    std::vector<std::unique_ptr<ModelNode>> nodes_;
    ModelNode* running_ = nullptr;
    Verdict verdict_;
    bool is_ending_ = false;
};

ModelNode::ModelNode(World& world, std::size_t number)
    : name(fmt::format("n{}", number + 1)), machine("machine-" + name), boot(fmt::format("boot-{}-0", name)),
      world_(world), api_(kube::Access{.server = base::Url::parse("http://127.0.0.1:1")}, http::Limits{}) {}

cluster::Place ModelNode::place_of(std::size_t network) const {
    return {.space = "", .subnet = *base::IpPrefix::parse(kNetworks[network].subnet)};
}

ipam::Claim ModelNode::claim_of(std::size_t network) const {
    const base::IpPrefix subnet = place_of(network).subnet;
    return {.space = "",
            .family = subnet.family(),
            .prefix_length = subnet.length(),
            .usable = {{subnet.network().value(), subnet.last().value()}},
            .cooldown = std::chrono::seconds(0)};
}

ipam::Owner ModelNode::owner_of(const std::string& container) const {
    return {.key = {.network = "net", .container_id = container, .ifname = "net1"},
            .pod_namespace = "default",
            .pod_name = container,
            .pod_uid = container,
            .netns_path = "/run/netns/" + container,
            .boot_id = boot};
}

std::shared_ptr<ipam::BlockFile> ModelNode::file() const {
    return std::make_shared<ipam::BlockFile>(ipam::BlockFile::Options{
        .state_directory = "/" + name,
        .boot_id = boot,
        .known_leases = {},
        .clock = [this] { return ipam::Time{.boot = world_.now, .epoch = 1'700'000'000 + world_.now}; }});
}

std::unique_ptr<BlocksStore> ModelNode::blocks() {
    BlocksStore::Options options;
    options.api = [this]() -> kube::Api& { return api_; };
    options.kubeconfig = "/kubeconfig";
    options.node_name = name;
    options.machine_id = machine;
    options.boot_id = boot;
    options.state_directory = "/" + name;
    options.find_use = [this](const base::IpPrefix& addresses, const std::vector<base::IpAddress>& known) {
        return why_in_use(addresses, known);
    };
    return std::make_unique<BlocksStore>(file(), std::move(options));
}

std::unique_ptr<WhereaboutsStore> ModelNode::pools(std::size_t network) {
    return std::make_unique<WhereaboutsStore>(
        api_, WhereaboutsStore::Options{.name_space = "kube-system",
                                        .places = {place_of(network)},
                                        .node = {.name = name, .uid = {}, .machine_id = machine, .boot_id = boot},
                                        .state_directory = "/" + name,
                                        .cluster = "/kubeconfig"});
}

std::string ModelNode::why_in_use(const base::IpPrefix& addresses, const std::vector<base::IpAddress>& known) const {
    for (const Pod& pod : pods)
        if (addresses.contains(pod.address) && std::find(known.begin(), known.end(), pod.address) == known.end())
            return pod.container + " has it";
    return {};
}

void ModelNode::add(std::size_t network) {
    const std::string container = fmt::format("{}-{}", name, ++containers_);
    for (int attempt = 0;; ++attempt) {
        try {
            const cluster::Keeper keeper =
                cluster::find_keeper({place_of(network)}, file()->ranges(), {"/" + name, boot, "/kubeconfig"},
                                     [this]() -> kube::Api& { return api_; }, soon());
            owed.emplace_back(container, network); // until it has ended, a DEL may have to look
            const auto outcome = keeper == cluster::Keeper::blocks
                                     ? blocks()->reserve(owner_of(container), {claim_of(network)}, soon())
                                     : pools(network)->reserve(owner_of(container), {claim_of(network)}, soon());
            if (const auto* granted = std::get_if<ipam::Granted>(&outcome)) {
                pods.push_back({.container = container,
                                .address = granted->leases.at(0).address.address(),
                                .keeper = keeper,
                                .network = network});
                world_.say(fmt::format("{} has {}", container, granted->leases.at(0).address));
                world_.look_for_duplicates();
            }
            return;
        } catch (const cluster::RangeMoved&) {
            if (attempt == 3) throw;
        }
    }
}

void ModelNode::remove(const Pod& pod) {
    std::erase_if(pods, [&](const Pod& one) { return one.container == pod.container; });
    const ipam::OwnerKey key = owner_of(pod.container).key;
    if (pod.keeper == cluster::Keeper::pools) {
        (void)pools(pod.network)->release(key, soon());
        return;
    }
    (void)blocks()->release(key, soon());
    blocks()->settle(std::chrono::seconds(0), soon());
}

void ModelNode::confirm() {
    blocks()->confirm(soon());
}

void ModelNode::reboot() {
    boot = fmt::format("boot-{}-{}", name, ++boots);
    pods.clear();
    const std::string prefix = "/" + name + "/";
    std::erase_if(files.by_path, [&](const auto& file) { return file.first.starts_with(prefix); });
}

} // namespace

Verdict explore(const Setting& setting) {
    return World(setting).run();
}

const std::vector<std::string>& rules() {
    static const std::vector<std::string> kRules{"claim-tests-mark", "claim-tests-uid"};
    return kRules;
}

} // namespace rdmanet::model
