// Whether a network that ADD understands fits to this node.
#pragma once

#include "network_lint.hpp"

#include <rdmanet/config/config.hpp>

#include <cstdint>
#include <string>

namespace rdmanet::doctor {

/// A warning for a file, which is of this node, and an info for a definition, which may be for other nodes.
void report_misfit(const Network& network, const std::string& what, const std::string& fix, Findings& found);

enum class PortKind : std::uint8_t { infiniband, ethernet };

/// What follows another fix for a port of the other kind: the command for a PF of NVIDIA at this PCI address
/// (mlxconfig, LINK_TYPE_P1: 1 InfiniBand, 2 Ethernet). Empty for a VF, whose kind is its PF's, and for other devices.
[[nodiscard]] std::string fix_by_firmware(const inventory::Inventory& inventory, const std::string& address,
                                          PortKind wanted);

/// Reports what the node does not have for the network's pods, or has in their way: a warning for a file, which is of
/// this node, and an info for a definition, which may be for other nodes. `name` is the network's. Notes in `parents`
/// which children the network makes. Throws base::SystemError and kernel::NetlinkError.
void examine_fit(const Network& network, const std::string& name, const config::Config& config, const Context& context,
                 SharedParents& parents, Findings& found);

} // namespace rdmanet::doctor
