// The search for another plugin's executable.
#pragma once

#include <string>

namespace rdmanet::cni {

/// The first directory of `path` that has a regular file with that name. As in the Go library (pkg/invoke,
/// find.go), only the execution shows whether it is executable. Messages call `path` by `name`. Throws CniError.
[[nodiscard]] std::string find_plugin(const std::string& plugin, const std::string& path,
                                      const std::string& name = "CNI_PATH");

} // namespace rdmanet::cni
