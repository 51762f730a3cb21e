// The file that `rdmanet plan` reads: a network configuration, or manifests with NetworkAttachmentDefinitions.
#pragma once

#include <string>

namespace rdmanet::cmd {

/// A configuration or list as JSON, and where it stands.
struct NetworkText {
    std::string configuration;
    std::string definition; // the NetworkAttachmentDefinition's name; empty for a file that is a configuration itself
};

/// Of several definitions the one called `name`, "NAME" or "NAMESPACE/NAME"; without a name there must be only one.
/// Throws base::Error and json::ParseError.
[[nodiscard]] NetworkText choose_network(std::string text, const std::string& name);

} // namespace rdmanet::cmd
