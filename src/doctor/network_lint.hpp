// What is wrong with a network before a pod asks for it.
#pragma once

#include "context.hpp"

#include <optional>
#include <string>
#include <vector>

namespace rdmanet::doctor {

struct Network {
    std::string place;                     // "kube-system/roce", or a file
    std::string name{};                    // of the definition: Multus gives it to a configuration without one
    std::string text;                      // its JSON
    bool is_definition = false;            // of the whole cluster, not of this node alone
    std::optional<std::string> resource{}; // whose devices Multus passes on
};

/// Reports what ADD would refuse, and what does not fit to this node. Returns the capabilities that the network does
/// not declare and that a pod may want, in quotes. A network that does not name rdmanet has none of that.
[[nodiscard]] std::vector<std::string> examine_network(const Network& network, const Context& context, Findings& found);

} // namespace rdmanet::doctor
