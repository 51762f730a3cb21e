// The search for another plugin's executable.
#pragma once

#include <string>

namespace rdmanet::cni {

/// The first directory of `path` (CNI_PATH) that has a regular file with that name. As in the Go library (pkg/invoke,
/// find.go), only the execution shows whether it is executable. Throws CniError.
[[nodiscard]] std::string find_plugin(const std::string& plugin, const std::string& path);

} // namespace rdmanet::cni
