// Stores in the etcd clusters that RDMANET_ETCD names (test/cluster/etcd.sh run). Each case has a prefix of its own
// there.
#pragma once

#include "support/reporter.hpp"

#include <rdmanet/cluster/etcd_store.hpp>
#include <rdmanet/etcd/client.hpp>
#include <rdmanet/ipam/store.hpp>

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rdmanet::cluster::test {

using namespace std::chrono_literals;

constexpr const char* kNeedsEtcd = "etcd: run it by test/cluster/etcd.sh run";

inline std::optional<std::string> etcd_directory() {
    const char* directory = std::getenv("RDMANET_ETCD");
    return directory == nullptr ? std::nullopt : std::optional<std::string>(directory);
}

inline std::vector<std::string> endpoints_of(const std::string& cluster) {
    std::ifstream file(*etcd_directory() + "/" + cluster + "/endpoints");
    std::vector<std::string> endpoints;
    for (std::string line; std::getline(file, line);) endpoints.push_back(line);
    return endpoints;
}

/// How to reach the cluster; "secure" as the user rdmanet.
inline etcd::Servers servers_of(const std::string& cluster) {
    etcd::Servers servers{.endpoints = endpoints_of(cluster)};
    if (cluster != "secure") return servers;
    const std::string directory = *etcd_directory() + "/secure/";
    servers.ca = directory + "ca.crt";
    servers.certificate = directory + "client.crt";
    servers.key = directory + "client.key";
    servers.username = "rdmanet";
    servers.password_file = directory + "rdmanet.password";
    return servers;
}

inline etcd::Client connect_to(const etcd::Servers& servers, etcd::Memory memory = etcd::Memory(),
                               http::Limits limits = {.connect = 60s, .request = 60s}) {
    return {etcd::read_access(servers), std::move(memory), limits};
}

/// A prefix that no other case or run has.
inline std::string own_prefix() {
    static std::atomic<int> count{0};
    return "/rdmanet/t" + std::to_string(::getpid()) + "-" + std::to_string(++count);
}

inline EtcdOptions etcd_options(const std::string& prefix) {
    return {.prefix = prefix,
            .machine_id = "0123456789abcdef0123456789abcdef",
            .node_name = "n1",
            .boot_id = "boot",
            .spaces = {""},
            .before_claim = {},
            .warn = {}};
}

} // namespace rdmanet::cluster::test
