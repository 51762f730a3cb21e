// The API servers and etcd clusters that one process asks. A call may have to do with many records: they share one
// connection, and a server that does not answer is waited for once.
#pragma once

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/logger.hpp>
#include <rdmanet/etcd/client.hpp>
#include <rdmanet/kube/api.hpp>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>

namespace rdmanet::attach {

class Clusters {
public:
    /// Reads the kubeconfig, and asks nobody anything. Throws ipam::StoreError, also for a server that has been given up.
    [[nodiscard]] kube::Api& connect(const std::string& kubeconfig, const http::Limits& limits,
                                     const base::Logger& log);

    /// The client for the servers that a record names so, which `make` makes once. Throws as connect() does.
    [[nodiscard]] etcd::Client connect_to_etcd(const std::string& servers, const http::Limits& limits,
                                               const std::function<etcd::Client()>& make);

    /// Another kubeconfig, which may lead to the cluster of a record whose own does not work any more. May be empty.
    void also_use(const std::string& kubeconfig) {
        if (!kubeconfig.empty()) others_.insert(kubeconfig);
    }
    /// Those, and all that worked in this process, but for `own`.
    [[nodiscard]] std::set<std::string> others(const std::string& own) const;

    /// This process asks that server nothing more: a kubeconfig, or servers of etcd as a record names them.
    void give_up(const std::string& server, std::string why) { given_up_[server] = std::move(why); }

    /// All that this process asks may take so long together, from the first of it on.
    void allow(std::chrono::milliseconds time) { allowed_ = time; }
    /// The end of that, or `deadline` if it is earlier.
    [[nodiscard]] base::Deadline until(const base::Deadline& deadline);

private:
    using Milliseconds = std::chrono::milliseconds;
    /// A server, and how long it is waited for.
    using Key = std::tuple<std::string, Milliseconds, Milliseconds>;

    void require_not_given_up(const std::string& server) const;

    std::map<Key, std::unique_ptr<kube::Api>> connections_; // by kubeconfig
    std::map<Key, etcd::Client> etcd_;
    std::set<std::string> others_;
    std::map<std::string, std::string> given_up_; // why
    std::optional<std::chrono::milliseconds> allowed_;
    std::optional<base::Deadline> end_;
};

} // namespace rdmanet::attach
