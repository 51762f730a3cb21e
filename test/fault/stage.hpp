// Every fault test runs on a stage: one parent, one pod, one configuration and its own state directory. The stage
// also says what the node must be like afterwards.
#pragma once

#include "ground.hpp"

#include "support/node.hpp"
#include "support/plugin_call.hpp"

#include <memory>
#include <set>
#include <string>
#include <vector>

namespace rdmanet::test {

/// cluster: the built-in allocator with its leases in the API server of test/cluster. blocks: with blocks from there.
enum class Ipam : std::uint8_t { built_in, blocks, cluster, host_local };

using Commands = std::vector<std::string>;
inline const Commands kAddAndDel = {"ADD", "DEL"};
inline const Commands kAllCommands = {"ADD", "DEL", "CHECK", "GC"};

/// The node, the files of the delegate, and the leases in the cluster with the records that owe some.
class NodeState {
public:
    [[nodiscard]] static NodeState take(Numbers numbers = Numbers::compared);
    [[nodiscard]] Numbers numbers() const { return numbers_; }
    [[nodiscard]] std::string difference_to(const NodeState& later) const;

private:
    Numbers numbers_ = Numbers::compared;
    Snapshot snapshot_;
    std::set<std::string> others_; // leases elsewhere than in the state directory, and blocks of one address
};

/// How the node differs from `before`. Waits a moment for what the kernel does later. Where leases are in the cluster,
/// a minute passes first, and `rdmanet gc` gives back what was owed. Empty if nothing differs.
[[nodiscard]] std::string difference_from(const NodeState& before);

class Stage {
public:
    Stage(std::string kind, Ipam ipam);
    Stage(const Stage&) = delete;
    Stage& operator=(const Stage&) = delete;
    ~Stage();

    [[nodiscard]] PluginCall call(const std::string& command) const;
    /// The call with ADD's result as prevResult, as runtimes send CHECK and DEL.
    [[nodiscard]] PluginCall call_after(const std::string& result, const std::string& command) const;
    [[nodiscard]] const std::string& config() const { return config_; }
    [[nodiscard]] std::string parent() const { return ground_->parent(); }
    /// Does everything that comes before a runtime's call: ADD before DEL, CHECK and GC, and the pod's end before GC,
    /// because GC keeps what a live namespace has. Returns what is wrong.
    [[nodiscard]] std::string prepare_for(const std::string& command);
    /// The call after prepare_for().
    [[nodiscard]] PluginCall prepared_call(const std::string& command) const;
    /// The node as it is now.
    [[nodiscard]] bool device_outlives_pod() const { return ground_->outlives_pod(); }
    [[nodiscard]] NodeState node() const { return NodeState::take(ground_->numbers()); }
    [[nodiscard]] std::string state_directory() const;
    /// The only record.
    [[nodiscard]] std::string record() const;

    /// Runs a command that must succeed. Returns what is wrong: "" or "DEL: exit status 1: …".
    [[nodiscard]] std::string run(const std::string& command) const;
    /// CHECK with an ADD's result.
    [[nodiscard]] std::string check(const std::string& result) const;
    /// GC by the runtime with an empty list. Errors of a delegate without GC (host-local before 1.4) do not matter,
    /// because the caller compares the node.
    [[nodiscard]] std::string collect_as_runtime() const;
    /// `rdmanet gc`.
    [[nodiscard]] std::string collect_as_person() const;
    /// A call may owe addresses to a store that it could not ask. It must say so, and the next call pays. Returns what
    /// is wrong.
    [[nodiscard]] std::string pay_debts(const ProcessResult& of) const;

    [[nodiscard]] const Pod& pod() const { return *pod_; }
    [[nodiscard]] bool has_pod() const { return pod_ != nullptr; }
    void destroy_pod();
    void create_pod();
    /// Removes all state, as on a node where the plugin never ran.
    void forget_state();
    /// Cleans up by hand after the plugin failed to, so that later points prove something. Earlier snapshots are
    /// invalid then.
    void reset();

private:
    void prepare();
    /// The network configuration, with `members` before the plugin's own.
    [[nodiscard]] std::string config_with(const std::string& version, const std::string& members) const;
    /// GC with an empty list.
    [[nodiscard]] PluginCall collecting_call() const;

    std::string kind_;
    Ipam ipam_;
    std::unique_ptr<Ground> ground_;
    std::string config_;
    std::string result_; // result of the ADD before CHECK
    std::unique_ptr<Pod> pod_;
};

/// An interface of ours, and another plugin's. Points with a server take long, so each run has one of the two, unless
/// all are wanted.
[[nodiscard]] std::vector<std::string> kinds_in_cluster();

/// Empty if this machine can play the kind, otherwise what it lacks.
[[nodiscard]] std::string missing_for(const std::string& kind, Ipam ipam);

[[nodiscard]] std::string complaint(const std::string& what, const ProcessResult& result);

} // namespace rdmanet::test
