// The file of a network, for `rdmanet plan` and `rdmanet ipam`: a network configuration, or manifests with
// NetworkAttachmentDefinitions.
#pragma once

#include <string>

namespace rdmanet::cmd {

/// The content of the file, "-" for standard input.
[[nodiscard]] std::string read_input(const std::string& file);
/// The same, if there is any. Throws json::ParseError.
[[nodiscard]] std::string read_network_input(const std::string& file);
/// How messages call it.
[[nodiscard]] std::string name_of(const std::string& file);

/// A configuration or list as JSON, and where it was found.
struct NetworkText {
    std::string configuration;
    std::string definition; // the NetworkAttachmentDefinition's name; empty if the file itself is a configuration
};

/// Chooses the definition called `name`, "NAME" or "NAMESPACE/NAME". Without a name there must be only one
/// definition. Throws base::Error and json::ParseError.
[[nodiscard]] NetworkText choose_network(std::string text, const std::string& name);

} // namespace rdmanet::cmd
