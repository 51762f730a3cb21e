// A node with the example files of a store, as docs/addresses.md installs them.
#pragma once

#include <string>

namespace rdmanet::test {

/// Where a node has the files of its store.
inline const std::string kNodeFiles = "/etc/cni/net.d/rdmanet.d";

/// They go with it.
class ConfiguredNode {
public:
    ConfiguredNode();
    ConfiguredNode(const ConfiguredNode&) = delete;
    ConfiguredNode& operator=(const ConfiguredNode&) = delete;
    ~ConfiguredNode();
};

/// rdmanet.conf and rdmanet.kubeconfig, for the tests' API server.
class NodeOfCluster : public ConfiguredNode {
public:
    NodeOfCluster();
};

/// rdmanet-etcd.conf, for the tests' etcd with users. That has one member, and wants client certificates.
class NodeOfEtcd : public ConfiguredNode {
public:
    explicit NodeOfEtcd(const std::string& etcd);
};

} // namespace rdmanet::test
