// How this node reaches the cluster, and which of its files a network may use.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rdmanet::ipam {

/// Keys of a node for all of its networks: where leases are kept, and how to reach that place.
inline constexpr const char* kNodeFile = "/etc/cni/net.d/rdmanet.d/rdmanet.conf";

struct NodeFile {
    std::string kubeconfig; // empty: the file names none, or there is no file
    std::string node_name;  // empty: the host's name
    /// In milliseconds.
    std::optional<std::uint32_t> connect_timeout{};
    std::optional<std::uint32_t> request_timeout{};
    /// Below which a network's `kubeconfig` and `configuration_path` are. The last three: of k3s, RKE2 and MicroK8s.
    std::vector<std::string> directories{
        "/etc/cni/net.d", "/etc/kubernetes", "/var/lib/rancher/k3s/agent/etc/cni/net.d",
        "/var/lib/rancher/rke2/agent/etc/cni/net.d", "/var/snap/microk8s/current/args/cni-network"};

    /// The one of those directories that `file` must not leave, also with the files that it names. Whoever can write
    /// networks must not make root read other files, or send them to a server. Empty for this file and for the kubeconfig
    /// that it names, because they are the administrator's. A path may come from a network or from a record of one.
    /// Throws base::OutsideError, whose message names the directories.
    [[nodiscard]] std::string directory_of(const std::string& file) const;
};

/// kNodeFile. Throws json::ValueError for a file that can't be used. `root` is where the
/// node's "/" is mounted, or empty.
[[nodiscard]] NodeFile read_node_file(const std::string& root = {});

} // namespace rdmanet::ipam
