#include "clusters.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/host_file.hpp>
#include <rdmanet/ipam/node_file.hpp>

namespace rdmanet::leases {

kube::Api& Clusters::connect(const std::string& kubeconfig, const http::Limits& limits, const base::Logger& log) try {
    require_not_given_up(kubeconfig);
    std::unique_ptr<kube::Api>& connection = connections_[{kubeconfig, limits.connect, limits.request}];
    if (connection) return *connection;
    // The path may be a network's, or come from a record of one.
    kube::Access access = kube::read_kubeconfig(kubeconfig, {}, {}, ipam::read_node_file().directory_of(kubeconfig));
    for (const std::string& warning : access.warnings) log.warn(warning);
    connection = std::make_unique<kube::Api>(std::move(access), limits);
    return *connection;
} catch (const kube::KubeconfigError& error) {
    throw ipam::StoreError(ipam::StoreError::Kind::permanent, fmt::format("lease store: {}", error.what()));
} catch (const base::OutsideError& error) {
    throw ipam::StoreError(ipam::StoreError::Kind::permanent, fmt::format("lease store: kubeconfig {}", error.what()));
} catch (const json::ValueError& error) {
    throw ipam::StoreError(ipam::StoreError::Kind::permanent, fmt::format("lease store: {}", error.what()));
} catch (const http::ConfigurationError& error) {
    throw ipam::StoreError(ipam::StoreError::Kind::permanent,
                           fmt::format("lease store: kubeconfig {}: {}", kubeconfig, error.what()));
}

base::Deadline Clusters::until(const base::Deadline& deadline) {
    if (!allowed_) return deadline;
    if (!end_) end_ = base::Deadline::in(*allowed_);
    return deadline.at_most(end_->remaining());
}

void Clusters::require_not_given_up(const std::string& kubeconfig) const {
    if (const auto silent = given_up_.find(kubeconfig); silent != given_up_.end())
        throw ipam::StoreError(ipam::StoreError::Kind::unreachable, silent->second);
}

std::set<std::string> Clusters::others(const std::string& own) const {
    std::set<std::string> others = others_;
    for (const auto& [key, connection] : connections_)
        if (connection) others.insert(std::get<std::string>(key));
    others.erase(own);
    return others;
}

} // namespace rdmanet::leases
