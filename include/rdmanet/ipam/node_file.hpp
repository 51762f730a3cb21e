// How this node reaches the stores that a cluster shares, for a call that is about no network in particular.
#pragma once

#include <string>

namespace rdmanet::ipam {

struct NodeFile {
    std::string kubeconfig; // empty: the file names none, or there is no file
    std::string node_name;  // empty: the host's name
};

/// kNodeFile (rdmanet/ipam/config.hpp). Throws json::ValueError for a file that can't be used.
[[nodiscard]] NodeFile read_node_file();

} // namespace rdmanet::ipam
