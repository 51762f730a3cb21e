// A node with the example files of the cluster's stores, as docs/addresses.md installs them.
#pragma once

#include <string>

namespace rdmanet::test {

/// Where a node has the files of its stores.
inline const std::string kNodeFiles = "/etc/cni/net.d/rdmanet.d";

/// rdmanet.conf and rdmanet.kubeconfig, for the tests' API server. They go with it.
class NodeOfCluster {
public:
    NodeOfCluster();
    NodeOfCluster(const NodeOfCluster&) = delete;
    NodeOfCluster& operator=(const NodeOfCluster&) = delete;
    ~NodeOfCluster();
};

} // namespace rdmanet::test
