// What a plugin prints about itself.
#pragma once

#include <string>
#include <string_view>

namespace rdmanet::cni {

/// The answer to VERSION: one line of JSON. It examines nothing else, because CRI-O drops networks whose plugins
/// fail.
[[nodiscard]] std::string version_output();

/// Two lines for a call without CNI_COMMAND, as the Go library prints them.
[[nodiscard]] std::string about_text(std::string_view plugin, std::string_view version);

} // namespace rdmanet::cni
