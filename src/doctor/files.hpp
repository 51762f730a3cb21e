// Files of the host that may be absent.
#pragma once

#include <rdmanet/inventory/files.hpp>

#include <string>
#include <vector>

namespace rdmanet::doctor {

using inventory::line_of;
using inventory::link_target_of;
using inventory::names_in;

/// Where files of networks are: the runtime's, and those of Multus for definitions without a configuration of their
/// own ("confDir").
inline constexpr const char* kNetworkFolders[] = {"/etc/cni/net.d", "/etc/cni/multus/net.d"};

/// Whether runtimes take a file of this name for a network configuration (libcni, ConfFiles()).
[[nodiscard]] bool is_configuration(const std::string& name);

/// A file in one of the kNetworkFolders.
struct NetworkFile {
    std::string path; // on the host
    std::string text;
};
/// `root` is where the host's / is mounted.
[[nodiscard]] std::vector<NetworkFile> list_network_files(const std::string& root);

[[nodiscard]] bool exists(const std::string& path);
/// At most 256 KiB; empty if the file is absent or must not be read.
[[nodiscard]] std::string content_of(const std::string& path);
[[nodiscard]] std::vector<std::string> lines_of(const std::string& path);
/// The lines in the first page: files of procfs may be larger than what the others read. The last one may be cut.
[[nodiscard]] std::vector<std::string> begin_lines_of(const std::string& path);
/// The lines in the last 256 KiB. The first one may be cut.
[[nodiscard]] std::vector<std::string> end_lines_of(const std::string& path);

} // namespace rdmanet::doctor
