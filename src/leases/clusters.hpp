// The API servers that one process asks. A call may have to do with many records: they share one connection, and a
// server that does not answer is waited for once.
#pragma once

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/logger.hpp>
#include <rdmanet/cluster/ranges.hpp>
#include <rdmanet/ipam/errors.hpp>
#include <rdmanet/kube/api.hpp>

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

namespace rdmanet::leases {

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

    /// Runs `act`. If the server of that kubeconfig does not answer it, this process asks that server nothing more.
    template <class Act>
    auto ask(const std::string& kubeconfig, Act act) {
        try {
            return act();
        } catch (const ipam::StoreError& error) {
            if (error.unreachable()) given_up_[kubeconfig] = error.what();
            throw;
        }
    }

    /// The AddressRanges that this process has last asked for there.
    void note_ranges(const std::string& kubeconfig, cluster::DeclaredRanges ranges) {
        ranges_.insert_or_assign(kubeconfig, std::move(ranges));
    }
    [[nodiscard]] std::optional<cluster::DeclaredRanges> ranges(const std::string& kubeconfig) const {
        const auto found = ranges_.find(kubeconfig);
        return found == ranges_.end() ? std::nullopt : std::optional(found->second);
    }

    /// All that this process asks may take so long together, from the first of it on.
    void allow(std::chrono::milliseconds time) { allowed_ = time; }
    /// The end of that, or `deadline` if it is earlier.
    [[nodiscard]] base::Deadline until(const base::Deadline& deadline);

private:
    using Milliseconds = std::chrono::milliseconds;
    /// A kubeconfig, and how long its server is waited for.
    using Key = std::tuple<std::string, Milliseconds, Milliseconds>;

    void require_not_given_up(const std::string& kubeconfig) const;

    std::map<Key, std::unique_ptr<kube::Api>> connections_;
    std::set<std::string> others_;
    std::map<std::string, std::string> given_up_; // why
    std::map<std::string, cluster::DeclaredRanges> ranges_;
    std::optional<std::chrono::milliseconds> allowed_;
    std::optional<base::Deadline> end_;
};

} // namespace rdmanet::leases
