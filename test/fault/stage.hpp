// What every fault is played on: one parent, one pod, one configuration, a state directory of its own; and what must be
// found afterwards.
#pragma once

#include "ground.hpp"

#include "support/node.hpp"
#include "support/plugin_call.hpp"

#include <memory>
#include <set>
#include <string>
#include <vector>

namespace rdmanet::test {

enum class Ipam : std::uint8_t { built_in, host_local };

using Commands = std::vector<std::string>;
inline const Commands kAddAndDel = {"ADD", "DEL"};
inline const Commands kAllCommands = {"ADD", "DEL", "CHECK", "GC"};

/// The node and what the delegate has written down.
class NodeState {
public:
    [[nodiscard]] static NodeState take(Numbers numbers = Numbers::compared);
    [[nodiscard]] Numbers numbers() const { return numbers_; }
    [[nodiscard]] std::string difference_to(const NodeState& later) const;

private:
    Numbers numbers_ = Numbers::compared;
    Snapshot snapshot_;
    std::set<std::string> delegate_;
};

/// Differences to a node remembered, after a moment for what the kernel does later. Empty: as it was.
[[nodiscard]] std::string difference_from(const NodeState& before);

class Stage {
public:
    Stage(std::string kind, Ipam ipam);
    Stage(const Stage&) = delete;
    Stage& operator=(const Stage&) = delete;
    ~Stage();

    [[nodiscard]] PluginCall call(const std::string& command) const;
    /// The call with what ADD printed as prevResult: so runtimes send CHECK and DEL.
    [[nodiscard]] PluginCall call_after(const std::string& result, const std::string& command) const;
    [[nodiscard]] const std::string& config() const { return config_; }
    [[nodiscard]] std::string parent() const { return ground_->parent(); }
    /// Until a runtime makes that call: it has added what DEL, CHECK and GC are about, and the pod is gone before GC,
    /// because a live namespace is nobody's garbage. Returns what is wrong.
    [[nodiscard]] std::string prepare_for(const std::string& command);
    /// That call.
    [[nodiscard]] PluginCall prepared_call(const std::string& command) const;
    /// How the node is now.
    [[nodiscard]] NodeState node() const { return NodeState::take(ground_->numbers()); }
    [[nodiscard]] std::string state_directory() const;
    /// The one record there is.
    [[nodiscard]] std::string record() const;

    /// Runs a command that must succeed. Returns what is wrong: "" or "DEL: exit status 1: …".
    [[nodiscard]] std::string run(const std::string& command) const;
    /// CHECK of what an ADD printed.
    [[nodiscard]] std::string check(const std::string& result) const;
    /// GC by the runtime with nothing valid. What a delegate without GC (host-local before 1.4) says to it is no
    /// matter: the node is what counts.
    [[nodiscard]] std::string collect_as_runtime() const;
    /// `rdmanet gc`.
    [[nodiscard]] std::string collect_as_person() const;

    [[nodiscard]] const Pod& pod() const { return *pod_; }
    [[nodiscard]] bool has_pod() const { return pod_ != nullptr; }
    void destroy_pod();
    void create_pod();
    /// As on a node where the plugin never ran.
    void forget_state();
    /// By hand, after the plugin failed to: later points must mean something. What was remembered of the node is void.
    void reset();

private:
    void prepare();
    /// The network configuration, with other members before the plugin's own.
    [[nodiscard]] std::string config_with(const std::string& version, const std::string& members) const;
    /// GC with nothing valid.
    [[nodiscard]] PluginCall collecting_call() const;

    std::string kind_;
    Ipam ipam_;
    std::unique_ptr<Ground> ground_;
    std::string config_;
    std::string result_; // of the ADD before CHECK
    std::unique_ptr<Pod> pod_;
};

/// Empty if this machine can play it; otherwise what is missing.
[[nodiscard]] std::string missing_for(const std::string& kind, Ipam ipam);

[[nodiscard]] std::string complaint(const std::string& what, const ProcessResult& result);

} // namespace rdmanet::test
