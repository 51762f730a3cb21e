#include "clusters.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/ipam/errors.hpp>

namespace rdmanet::attach {

kube::Api& Clusters::connect(const std::string& kubeconfig, const http::Limits& limits, const base::Logger& log) try {
    require_not_given_up(kubeconfig);
    std::unique_ptr<kube::Api>& connection = connections_[{kubeconfig, limits.connect, limits.request}];
    if (connection) return *connection;
    kube::Access access = kube::read_kubeconfig(kubeconfig);
    for (const std::string& warning : access.warnings) log.warn(warning);
    connection = std::make_unique<kube::Api>(std::move(access), limits);
    return *connection;
} catch (const kube::KubeconfigError& error) {
    throw ipam::StoreError(ipam::StoreError::Kind::permanent, fmt::format("lease store: {}", error.what()));
} catch (const http::ConfigurationError& error) {
    throw ipam::StoreError(ipam::StoreError::Kind::permanent,
                           fmt::format("lease store: kubeconfig {}: {}", kubeconfig, error.what()));
}

etcd::Client Clusters::connect_to_etcd(const std::string& servers, const http::Limits& limits,
                                       const std::function<etcd::Client()>& make) {
    require_not_given_up(servers);
    const Key key{servers, limits.connect, limits.request};
    if (const auto known = etcd_.find(key); known != etcd_.end()) return known->second;
    return etcd_.emplace(key, make()).first->second;
}

base::Deadline Clusters::until(const base::Deadline& deadline) {
    if (!allowed_) return deadline;
    if (!end_) end_ = base::Deadline::in(*allowed_);
    return deadline.at_most(end_->remaining());
}

void Clusters::require_not_given_up(const std::string& server) const {
    if (const auto silent = given_up_.find(server); silent != given_up_.end())
        throw ipam::StoreError(ipam::StoreError::Kind::unreachable, silent->second);
}

std::set<std::string> Clusters::others(const std::string& own) const {
    std::set<std::string> others = others_;
    for (const auto& [key, connection] : connections_)
        if (connection) others.insert(std::get<std::string>(key));
    others.erase(own);
    return others;
}

} // namespace rdmanet::attach
