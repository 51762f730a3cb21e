// How tests here call the binary: configurations in one line, outcomes as text to compare.
#pragma once

#include "support/node.hpp"
#include "support/plugin_call.hpp"

#include <string>

namespace rdmanet::test {

/// JSON written with single quotes.
[[nodiscard]] std::string json_text(std::string single_quoted);

/// `text` with every `what` replaced.
[[nodiscard]] std::string replaced(std::string text, const std::string& what, const std::string& by);

/// Members of a configuration with addresses from `range`. They have no cooldown after their release.
[[nodiscard]] std::string ipam(const std::string& range, const std::string& more = "");

/// A call for `pod`'s attachment to a network that has these members beside its name and type.
[[nodiscard]] PluginCall call_for(const Pod& pod, const std::string& members, const std::string& version = "1.1.0",
                                  const std::string& network = "net");

/// The call with `members` (single quotes) added to its configuration.
[[nodiscard]] PluginCall with(PluginCall call, const std::string& members);
/// The call of another container.
[[nodiscard]] PluginCall of(PluginCall call, const std::string& container);
/// The call with a result as prevResult, as runtimes send CHECK and DEL.
[[nodiscard]] PluginCall after(PluginCall call, const std::string& result);

/// The result of an ADD that must succeed.
std::string add(const PluginCall& call);
/// Runs ADD, which must be refused: "code N: message".
[[nodiscard]] std::string refusal(const PluginCall& call);
/// Empty if the command succeeded and, but for ADD, printed nothing. STATUS and GC are called without a pod.
[[nodiscard]] std::string outcome(const PluginCall& call, const std::string& command);
[[nodiscard]] std::string del(const PluginCall& call);
[[nodiscard]] std::string check(const PluginCall& call, const std::string& result);
/// What CHECK says after `change`. Throws if CHECK does not succeed after `repair`.
[[nodiscard]] std::string check_between(const PluginCall& call, const std::string& result, const std::string& change,
                                        const std::string& repair);

/// The command between backticks in a message. Throws if there is none.
[[nodiscard]] std::string fix_in(const std::string& message);

/// One value of a JSON text, as text; the path is like "interfaces.0.mac".
[[nodiscard]] std::string value(const std::string& json, const std::string& path);
/// Addresses of a result, "10.0.0.1/24 fd00::1/64".
[[nodiscard]] std::string addresses(const std::string& result);
[[nodiscard]] std::string mac_of(const Pod& pod, const std::string& ifname = "net1");

/// A parent without RDMA, a pod, and a snapshot of the node.
struct Stage {
    VethParent parent{"par0"};
    Pod pod{"pod"};
    UnchangedNode node;
};

/// As UnchangedNode, but compares at its end, unless the case has ended early.
class CheckedNode : public UnchangedNode {
public:
    using UnchangedNode::UnchangedNode;
    CheckedNode(const CheckedNode&) = delete;
    CheckedNode& operator=(const CheckedNode&) = delete;
    ~CheckedNode();
};

struct CheckedStage {
    VethParent parent{"par0"};
    Pod pod{"pod"};
    CheckedNode node;
};

/// An attachment of container "c1" on a stage.
struct AttachedStage {
    explicit AttachedStage(const std::string& members, const std::string& version = "1.1.0")
        : call(call_for(stage.pod, members, version)), result(add(call)) {}

    Stage stage;
    PluginCall call;
    std::string result;

    /// Calls DEL. Empty if DEL succeeds and leaves the node as it was.
    [[nodiscard]] std::string end() const {
        const std::string said = del(call); // before the comparison
        return said + stage.node.difference();
    }
};

} // namespace rdmanet::test
