// Whether a network that ADD understands fits to this node.
#pragma once

#include "network_lint.hpp"

#include <rdmanet/config/config.hpp>

#include <string>

namespace rdmanet::doctor {

/// Reports what the node does not have for the network's pods, or has in their way: a warning for a file, which is of
/// this node, and an info for a definition, which may be for other nodes. `name` is the network's. Notes in `parents`
/// which children the network makes. Throws base::SystemError and kernel::NetlinkError.
void examine_fit(const Network& network, const std::string& name, const config::Config& config, const Context& context,
                 SharedParents& parents, Findings& found);

} // namespace rdmanet::doctor
