// The API servers that one process asks. A call may have to do with many records: they share one connection, and a
// server that does not answer is waited for once.
#pragma once

#include <rdmanet/base/logger.hpp>
#include <rdmanet/kube/api.hpp>

#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>

namespace rdmanet::attach {

class Clusters {
public:
    /// Reads the kubeconfig, and asks nobody anything. Throws ipam::StoreError, also for a server that has been given up.
    [[nodiscard]] kube::Api& connect(const std::string& kubeconfig, const http::Limits& limits,
                                     const base::Logger& log);

    /// Another kubeconfig, which may lead to the cluster of a record whose own does not work any more. May be empty.
    void also_use(const std::string& kubeconfig) {
        if (!kubeconfig.empty()) others_.insert(kubeconfig);
    }
    /// Those, and all that worked in this process, but for `own`.
    [[nodiscard]] std::set<std::string> others(const std::string& own) const;

    /// This process asks that server nothing more.
    void give_up(const std::string& kubeconfig, std::string why) { given_up_[kubeconfig] = std::move(why); }

private:
    using Milliseconds = std::chrono::milliseconds;
    /// By kubeconfig, and how long its server is waited for.
    std::map<std::tuple<std::string, Milliseconds, Milliseconds>, std::unique_ptr<kube::Api>> connections_;
    std::set<std::string> others_;
    std::map<std::string, std::string> given_up_; // why
};

} // namespace rdmanet::attach
