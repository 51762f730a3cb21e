#include "model/world.hpp"

#include "model/fake_node.hpp"
#include "model/fibers.hpp"
#include "model/node.hpp"
#include "model/random.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/cluster/reconcile.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace rdmanet::model {
namespace {

constexpr std::size_t kMostNodes = 3;
constexpr std::size_t kMostCalls = 2; // of one node
constexpr std::size_t kMostSteps = 2000;

struct Call {
    Process* process = nullptr;
    Node* node = nullptr; // none: reconcile
    bool is_add = false;
    Asker asker{};
};

class World : Scheduler {
public:
    explicit World(const Setting& setting)
        : setting_(setting), random_(setting.seed), server_(*this, setting.without),
          begins_(std::array{Begin::empty, Begin::empty, Begin::nodes_change, Begin::node_gone, Begin::given_back,
                             Begin::together}
                      .at(random_.below(6))),
          has_parallel_calls_(begins_ == Begin::together || random_.one_of(3)) {
        static std::array<Process, kMostNodes * kMostCalls + 1> processes; // each has a stack
        files = Files();
        files.without = setting.without;
        files.wait = [this] { wait(); };
        server = &server_;
        const std::size_t count = random_.one_of(3) ? 3 : 2;
        for (std::size_t number = 0; number < count; ++number) nodes_.emplace_back(fmt::format("n{}", number + 1));
        auto process = processes.begin();
        for (Node& node : nodes_) {
            report(node);
            for (std::size_t call = 0; call < (has_parallel_calls_ ? kMostCalls : 1); ++call)
                calls_.push_back({.process = &*process++, .node = &node});
        }
        if (nodes_change()) calls_.push_back({.process = &*process, .asker = {.is_reconcile = true}});
        prepare();
        now_ = nullptr;
        persistence_ = std::array<std::size_t, 4>{0, 60, 90, 97}.at(random_.below(4));
        rate_ = random_.one_of(2) ? 0 : 40;
        changes_ = 2 + random_.below(nodes_change() ? 8 : 4);
        adds_ = 2 + random_.below(count);
    }

    Verdict run() {
        for (std::size_t steps = 0; steps < kMostSteps && verdict_.duplicate.empty(); ++steps)
            if (!step()) break;
        for (Call& call : calls_) call.process->kill();
        return std::move(verdict_);
    }

private:
    /// How a schedule begins, so that what is rare happens often enough.
    enum class Begin {
        empty,
        nodes_change, // and reconcile runs
        node_gone,    // the same; the Node of n1 was deleted long ago, and reconcile has marked its block
        given_back,   // the same; n1 has given a block back, and somebody has a copy of its file from before
        together,     // two ADDs of n1 ask for its first block
    };
    [[nodiscard]] bool nodes_change() const { return begins_ != Begin::empty && begins_ != Begin::together; }

    void prepare() {
        if (begins_ == Begin::together) {
            apply("pods", "10.0.0.0/29");
            add(calls_[0]);
            return add(calls_[1]);
        }
        if (begins_ != Begin::node_gone && begins_ != Begin::given_back) {
            if (random_.one_of(2)) apply("pods", "10.0.0.0/29");
            return;
        }
        apply("pods", "10.0.0.0/29");
        Call& first = calls_.front();
        add(first);
        go_on(first, kMostSteps);
        if (begins_ == Begin::node_gone) {
            if (random_.one_of(2)) remove(first);
            go_on(first, kMostSteps);
            change_registration(*first.node);
            reconcile(calls_.back());
            go_on(calls_.back(), kMostSteps);
            files.now += 60 * static_cast<std::int64_t>(20 + random_.below(3));
            if (random_.one_of(2)) return;
            reconcile(calls_.back());
            go_on(calls_.back(), 4 + random_.below(4)); // it is about to take the block
            change_registration(*first.node);
            confirm(first);
            return go_on(first, 3); // it has read its block
        }
        first.node->put_file_back();
        toggle("pods", "10.0.0.0/29");
        confirm(first);
        go_on(first, kMostSteps);
        remove(first);
        go_on(first, kMostSteps);
        toggle("pods", "10.0.0.0/29");
    }

    void go_on(Call& call, std::size_t steps) {
        for (; steps != 0 && call.process->is_running(); --steps) go_on(call);
    }

    // Scheduler

    Fate decide(const Request& request) override {
        Process::pause();
        const Fate fate =
            rate_ != 0 && random_.one_of(rate_) ? static_cast<Fate>(1 + random_.below(5)) : Fate::answered;
        if (setting_.is_traced) {
            constexpr std::array kFates{"", ", killed", ", killed, late", ", lost", ", late", ", silent"};
            say("    {}: {} {} {}{}", name_of(*now_), request.method, request.path, request.query,
                kFates.at(static_cast<std::size_t>(fate)));
        }
        return fate;
    }
    std::size_t lag() override { return random_.one_of(4) ? random_.below(4) : 0; }
    Asker& asker() override { return now_->asker; }
    std::int64_t now() override { return 1'700'000'000 + files.now; }
    void took(const nlohmann::json& block) override;

    /// Before a file is changed, or while another process has a lock.
    void wait() {
        if (has_parallel_calls_) return Process::pause();
        if (rate_ != 0 && random_.one_of(2 * rate_)) Process::die();
    }

    template <class... Values>
    void say(fmt::format_string<const Values&...> text, const Values&... values) {
        if (setting_.is_traced) verdict_.trace.push_back(fmt::format(text, values...));
    }

    // What happens next

    enum class Do { go_on, add, remove, confirm, reconcile, late, administrate, change_node, tick };
    struct Choice {
        Do what;
        Call* call;
    };

    void offer(std::size_t weight, Do what, Call* call = nullptr) {
        choices_.insert(choices_.end(), weight, {what, call});
    }

    /// False: nothing more can be given.
    bool step() {
        if (now_ != nullptr && now_->process->is_running() && random_.below(100) < persistence_)
            return go_on(*now_), true;
        choices_.clear();
        const Node* offered = nullptr;
        bool is_any_adding = false;
        for (Call& call : calls_) {
            if (call.process->is_running()) {
                is_any_adding = is_any_adding || call.is_add;
                offer(4, Do::go_on, &call);
                continue;
            }
            if (call.node == nullptr) {
                if (changes_ != 0) offer(2, Do::reconcile, &call);
                continue;
            }
            const Node& node = *call.node;
            if (std::exchange(offered, &node) == &node) continue; // one idle call is enough
            if (adds_ != 0) offer(3, Do::add, &call);
            if (!node.pods.empty() || !node.pending.empty()) offer(1, Do::remove, &call);
            if (changes_ != 0) offer(nodes_change() ? 2 : 1, Do::confirm, &call);
        }
        if (!is_any_adding && adds_ == 0) return false;
        if (server_.has_late_request()) offer(1, Do::late);
        if (changes_ != 0) {
            offer(2, Do::administrate);
            offer(1, Do::tick);
            if (nodes_change()) offer(2, Do::change_node);
        }
        act(choices_[random_.below(choices_.size())]);
        return true;
    }

    void act(const Choice& choice) {
        switch (choice.what) {
        case Do::go_on: return go_on(*choice.call);
        case Do::add: --adds_; return add(*choice.call);
        case Do::remove: return remove(*choice.call);
        case Do::confirm: --changes_; return confirm(*choice.call);
        case Do::reconcile: --changes_; return reconcile(*choice.call);
        case Do::late: say("a late request arrives"); return server_.carry_out_late_request();
        case Do::administrate: --changes_; return administrate();
        case Do::change_node: --changes_; return change(nodes_[random_.one_of(2) ? 0 : random_.below(nodes_.size())]);
        case Do::tick:
            files.now += 60 * static_cast<std::int64_t>(1 + random_.below(nodes_change() ? 24 : 4));
            return say("it is {}", files.now);
        }
    }

    static std::string path_of(const Pod& pod) { return "/api/v1/namespaces/default/pods/" + pod.container; }

    void add(Call& call) {
        const std::size_t network = random_.below(kNetworks.size());
        const Pod pod = call.node->make_pod(network);
        if (nodes_change()) server_.put(path_of(pod), {{"metadata", {{"name", pod.container}}}});
        const auto granted = [this](Pod& has) { look_for_duplicates(*now_->node, has); };
        begin(
            call, fmt::format("ADD of {} in {}", pod.container, kNetworks.at(network)),
            [this, pod, granted] { now_->node->add(pod, now_->asker, granted); }, true);
    }

    void remove(Call& call) {
        Node& node = *call.node;
        if (!node.pods.empty()) { // it ends, and its DELs begin
            const auto pod = node.pods.begin() + static_cast<std::ptrdiff_t>(random_.below(node.pods.size()));
            if (nodes_change()) server_.erase(path_of(*pod));
            node.pending.push_back(*pod);
            node.pods.erase(pod);
        }
        if (node.pending.empty()) return;
        const Pod pod = node.pending[random_.below(node.pending.size())];
        begin(call, fmt::format("DEL of {}", pod.container), [this, pod] { now_->node->remove(pod, now_->asker); });
    }

    void confirm(Call& call) {
        begin(call, "confirmation", [this] { now_->node->confirm(now_->asker); });
    }

    void reconcile(Call& call) {
        begin(call, "run", [] { (void)cluster::reconcile(api(), {}, base::Deadline::in(std::chrono::hours(24))); });
    }

    static std::string name_of(const Call& call) { return call.node != nullptr ? call.node->name : "reconcile"; }

    void begin(Call& call, std::string what, std::function<void()> act, bool is_add = false) {
        call.is_add = is_add;
        say("{}: {} begins", name_of(call), what);
        call.process->begin([this, &call, what = std::move(what), act = std::move(act)] {
            std::string how = "ends";
            try {
                act();
            } catch (const base::Error& error) {
                how = error.what();
            }
            say("{}: {}: {}", name_of(call), what, call.process->is_dead() ? "killed" : how);
        });
        go_on(call);
    }

    void go_on(Call& call) {
        now_ = &call;
        call.process->go_on();
    }

    // The administrator, and the machines

    static std::string path_of(const Node& node) { return "/api/v1/nodes/" + node.name; }

    /// kubelet makes the Node if there is none.
    void report(const Node& node) {
        const auto* known = server_.find(path_of(node));
        nlohmann::json object{
            {"metadata", nlohmann::json::object()},
            {"status", {{"nodeInfo", {{"machineID", "machine-" + node.name}, {"bootID", node.boot}}}}}};
        if (known != nullptr) object["metadata"]["uid"] = (*known)["metadata"]["uid"];
        server_.put(path_of(node), std::move(object));
    }

    [[nodiscard]] bool is_busy(const Node& node) const {
        return std::any_of(calls_.begin(), calls_.end(),
                           [&](const Call& call) { return call.node == &node && call.process->is_running(); });
    }

    void change(Node& node) {
        switch (random_.below(begins_ == Begin::node_gone ? 8 : 4)) {
        case 0: return reboot(node);
        case 1: say("{} loses its files", node.name); return node.lose_files();
        case 2:
            if (is_busy(node)) return; // who is about to write the file replaces it anyway
            say("{}: its file is copied, or put back", node.name);
            return node.put_file_back();
        default: return change_registration(node);
        }
    }

    void change_registration(Node& node) {
        const auto* known = server_.find(path_of(node));
        say("{}: its Node is {}", node.name, known != nullptr ? "deleted" : "registered");
        if (known == nullptr) return report(node);
        deleted_[(*known)["metadata"]["uid"]] = files.now;
        server_.erase(path_of(node));
        for (Pod& pod : node.pods) pod.is_forfeit = pod.is_forfeit || pod.keeper == cluster::Keeper::pools;
    }

    void reboot(Node& node) {
        say("{} boots", node.name);
        for (Call& call : calls_)
            if (call.node == &node) call.process->kill();
        node.reboot();
        report(node);
    }

    void administrate() {
        switch (random_.below(8)) {
        case 0: return toggle("wide", "10.0.0.0/28");
        case 1:
        case 2: return delete_empty_pool();
        default: return toggle("pods", "10.0.0.0/29");
        }
    }

    static std::string path_of(const char* range) {
        return fmt::format("/apis/rdmanet.cni/v1alpha1/addressranges/{}", range);
    }

    void toggle(const char* name, const char* range) {
        if (server_.find(path_of(name)) == nullptr) return apply(name, range);
        say("the administrator deletes AddressRange {}", name);
        server_.erase(path_of(name));
    }

    void apply(const char* name, const char* range) {
        if (random_.one_of(3)) block_size_ = 1U << random_.below(3);
        say("the administrator applies AddressRange {} ({}), block size {}", name, range, block_size_);
        server_.put(path_of(name), {{"metadata", nlohmann::json::object()},
                                    {"spec", {{"range", range}, {"blockSize", block_size_}, {"goneAfter", "10m"}}}});
    }

    void delete_empty_pool() {
        for (const char* name : {"10.0.0.0-30", "10.0.0.0-31"}) {
            const std::string path =
                fmt::format("/apis/whereabouts.cni.cncf.io/v1alpha1/namespaces/kube-system/ippools/{}", name);
            const auto* pool = server_.find(path);
            if (pool == nullptr || !(*pool)["spec"]["allocations"].empty()) continue;
            say("the administrator deletes the empty pool {}", name);
            return server_.erase(path);
        }
    }

    void look_for_duplicates(const Node& of, Pod& granted) {
        say("{} has {}", granted.container, *granted.address);
        if (granted.keeper == cluster::Keeper::pools && server_.find(path_of(of)) == nullptr) granted.is_forfeit = true;
        for (const Node& node : nodes_)
            for (const Pod& pod : node.pods)
                if (pod.address == granted.address && pod.container != granted.container && !pod.is_forfeit)
                    verdict_.duplicate =
                        fmt::format("{} and {} have {}", pod.container, granted.container, *pod.address);
    }

    Setting setting_;
    Random random_;
    FakeServer server_;
    std::vector<Node> nodes_;
    std::vector<Call> calls_;
    std::vector<Choice> choices_;
    Begin begins_;
    Call* now_ = nullptr;         // the call that runs, or ran last
    std::size_t persistence_ = 0; // in how many of 100 steps the call goes on that ran last
    std::size_t rate_ = 0;        // one of so many requests fails; 0: none
    bool has_parallel_calls_;     // of one node
    std::size_t changes_ = 0;
    std::size_t adds_ = 0;
    unsigned block_size_ = 1;
    std::map<std::string, std::int64_t> deleted_; // Nodes, by UID, and when
    Verdict verdict_;
};

/// Its node may still run: then its pods are forfeit, because the Node was missing for longer than the node gives from
/// it.
void World::took(const nlohmann::json& block) {
    constexpr std::int64_t kGoneAfter = 600;
    const nlohmann::json& spec = block["spec"];
    const auto prefix = *base::IpPrefix::parse(spec["block"].get<std::string>());
    for (Node& node : nodes_) {
        if (node.boot != spec["bootID"]) continue;
        const auto deleted = deleted_.find(spec["node"]["uid"]);
        if (deleted == deleted_.end() || files.now - deleted->second <= kGoneAfter)
            verdict_.duplicate = fmt::format("reconcile frees block {} of {}", prefix, node.name);
        for (Pod& pod : node.pods)
            if (pod.keeper == cluster::Keeper::blocks && prefix.contains(*pod.address)) pod.is_forfeit = true;
    }
}

} // namespace

Verdict explore(const Setting& setting) {
    return World(setting).run();
}

} // namespace rdmanet::model
