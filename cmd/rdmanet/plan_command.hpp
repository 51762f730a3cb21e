// rdmanet plan: what ADD would do with a network configuration on this node.
#pragma once

#include <string>

namespace rdmanet::cmd {

/// What a runtime and Multus would add to the configuration.
struct PlanOptions {
    std::string file = "-";
    std::string network; // of several in the file; for a configuration without a name
    std::string device;  // PCI or auxiliary
    std::string ifname = "net1";
    std::string netns;       // empty: a new one that nobody has
    std::string args;        // CNI_ARGS
    std::string prev_result; // file: what the plugins before this one answered
    std::string cni_path = "/opt/cni/bin";
    std::string state_directory;
    bool json = false;
};

struct Plan {
    std::string text;              // to print
    bool has_unknown_keys = false; // a mistyped key has no effect
};

/// Throws what ADD would throw before its first change, and base::Error for a file that is no network of
/// this plugin's.
[[nodiscard]] Plan plan(PlanOptions options);

} // namespace rdmanet::cmd
