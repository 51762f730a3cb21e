// Tokens of kubeconfigs on the node.
#pragma once

#include <string>
#include <string_view>

namespace rdmanet::doctor {

/// How "Multus", "whereabouts" or "rdmanet" gets a new token.
[[nodiscard]] std::string fix_of_token(std::string_view owner);

} // namespace rdmanet::doctor
