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

/// Prints the actions to standard output and warnings to standard error, in JSON both to standard output. The exit
/// status is 1 with the reason on standard error if ADD would refuse, if the file is no network of this plugin's, or if
/// keys do nothing: whoever wrote them expects something. Throws what printing throws.
[[nodiscard]] int plan(const PlanOptions& options);

} // namespace rdmanet::cmd
