// Where another plugin's executable is.
#pragma once

#include <string>

namespace rdmanet::cni {

/// The first directory of `path` (CNI_PATH) that has a regular file of that name; whether it is executable shows when
/// it is executed, as in the Go library (pkg/invoke, find.go). Throws CniError.
[[nodiscard]] std::string find_plugin(const std::string& plugin, const std::string& path);

} // namespace rdmanet::cni
