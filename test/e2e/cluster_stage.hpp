// The API server of cases that are run by test/cluster/cluster.sh, and a kubeconfig file that leads to it or to nobody.
#pragma once

#include "support/node.hpp"
#include "support/process.hpp"
#include "support/reporter.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

namespace rdmanet::test {

inline constexpr const char* kNeedsCluster = "a Kubernetes API server (test/cluster/cluster.sh run)";
inline constexpr const char* kKubeconfig = "/etc/cni/net.d/cluster-test.kubeconfig"; // where a network may name one
// Members of "kubernetes": a machine with too much to do has slow servers. A later member with shorter times wins.
inline constexpr const char* kLongLimits = "'connectTimeoutMs':30000,'requestTimeoutMs':60000,'addTimeoutMs':90000";
// Nobody listens there.
inline constexpr const char* kNobody =
    "apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: "
    "\"http://127.0.0.1:1\"}}]\nusers: [{name: u, user: {token: s3cret}}]\ncontexts: [{name: "
    "x, context: {cluster: c, user: u}}]\ncurrent-context: x\n";

/// Its directory; empty if there is none.
inline std::string cluster() {
    const char* directory = std::getenv("RDMANET_CLUSTER");
    return directory == nullptr ? "" : directory;
}

/// What a case on this server needs and this machine lacks; empty if it lacks nothing.
inline std::string cluster_lacks() {
    return cluster().empty() ? kNeedsCluster : "";
}

inline void write_kubeconfig(const std::string& content) {
    const std::filesystem::path path = kKubeconfig;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << content;
}

inline std::string read_file(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// The kubeconfig file is that of a user of the API server: "rdmanet" has the rights of a node. Skips the case without
/// a server.
inline void use_cluster_as(const std::string& user) {
    if (const std::string lack = cluster_lacks(); !lack.empty()) skip(lack);
    write_kubeconfig(read_file(cluster() + '/' + user + ".kubeconfig"));
}

/// Of "apiserver" or of its "etcd", for a shell.
inline std::string pid_of(const std::string& server) {
    return "$(cat " + cluster() + '/' + server + ".pid)";
}

/// One of the two, which gets no processor time until this ends.
class StoppedServer {
public:
    explicit StoppedServer(std::string server = "apiserver") : server_(std::move(server)) {
        shell("kill -STOP " + pid_of(server_));
    }
    StoppedServer(const StoppedServer&) = delete;
    StoppedServer& operator=(const StoppedServer&) = delete;
    ~StoppedServer() { (void)succeeds("kill -CONT " + pid_of(server_)); }

private:
    std::string server_;
};

/// A Node object as JSON, of this machine in this boot.
inline std::string node_object(const std::string& name, const std::string& machine_id = line_of("/etc/machine-id")) {
    return R"({"apiVersion":"v1","kind":"Node","metadata":{"name":")" + name +
           R"("},"status":{"nodeInfo":{"machineID":")" + machine_id + R"(","bootID":")" +
           line_of("/proc/sys/kernel/random/boot_id") + R"("}}})";
}

} // namespace rdmanet::test
