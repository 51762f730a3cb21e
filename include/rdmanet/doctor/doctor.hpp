// What is wrong with RDMA on this node, layer by layer, and what to do about it.
#pragma once

#include <rdmanet/attach/node.hpp>
#include <rdmanet/inventory/inventory.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rdmanet::doctor {

/// Lower ones first. What fails in a lower layer is not blamed on a higher one.
enum class Layer : std::uint8_t { hardware, kernel, rdma, network, runtime, cluster, pod };
[[nodiscard]] std::string_view to_string(Layer layer);

enum class Severity : std::uint8_t {
    info,    // worth knowing
    warning, // works now, or may be intended
    failure, // RDMA does not work there
};
[[nodiscard]] std::string_view to_string(Severity severity);

struct Finding {
    std::string check;   // identifier of the check
    std::string subject; // what it is about: "0000:3b:00.0", "default/web net1"; empty for the node
    Severity severity = Severity::info;
    std::string what; // what is wrong, the value found, and what was expected
    std::string fix;  // a command, or what to do; may be empty for info
};

struct CheckInfo {
    std::string_view id; // "port-state"
    Layer layer;
    std::string_view about; // what it looks at, in a few words
};
/// All checks, in the order in which they run.
[[nodiscard]] std::vector<CheckInfo> list_checks();

enum class Outcome : std::uint8_t { ok, found, not_looked_at };

struct CheckResult {
    CheckInfo check;
    Outcome outcome = Outcome::ok;
    std::string why{}; // it was not looked at
};

struct Report {
    std::vector<CheckResult> checks;
    std::vector<Finding> findings;   // the lowest layers first
    std::vector<std::string> unseen; // what could not be read, see Inventory::unseen

    [[nodiscard]] Severity worst() const;
    /// The first failure, or the first warning of what comes up some time after a boot: drivers, modules, interfaces.
    /// nullptr if there is none.
    [[nodiscard]] const Finding* first_to_wait_for() const;
};

struct Options {
    std::string root{};    // where the host's "/" is mounted; empty: here
    std::string pod{};     // "NAMESPACE/NAME", or the path of a network namespace: look at this pod, too
    bool pod_only = false; // leave the node out
    /// A file on the host, to ask the API server with. Empty: Multus' file, or else rdmanet's.
    std::string kubeconfig{};
};

/// Runs all checks. Changes nothing and loads no module. Asks the kubelet and the API server, and sends nothing else.
/// If the pod has no network namespace here, that is a finding. Throws base::Error if Options::pod is not of one of
/// its forms, or is a path that leads to no network namespace.
[[nodiscard]] Report examine(const inventory::Inventory& inventory, const attach::Node& node, const Options& options);

/// How much a text says about its cause.
enum class Reach : std::uint8_t {
    special,
    general, // the cause depends on the rest of the message
};

/// A known text of an error, and what causes it.
struct Explanation {
    std::string_view text;   // what programs print; parts are separated by "..."
    std::string_view cause;  // with what to do
    std::string_view checks; // identifiers, separated by blanks
    Reach reach = Reach::special;
};
/// All of them, for the documentation.
[[nodiscard]] std::span<const Explanation> list_explanations();
/// Those whose parts are in one line of `text`, in any case of letters. General ones are left out for a line that has
/// a special one, and so is one whose cause has been said.
[[nodiscard]] std::vector<Explanation> explain(std::string_view text);

} // namespace rdmanet::doctor
