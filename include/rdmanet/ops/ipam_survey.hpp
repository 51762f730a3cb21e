// What the lease stores have at one moment, with what tells whether it is right: nodes, pods, and this node's journal.
#pragma once

#include <rdmanet/attach/lease_holders.hpp>
#include <rdmanet/base/deadline.hpp>
#include <rdmanet/cluster/survey.hpp>
#include <rdmanet/kube/access.hpp>
#include <rdmanet/leases/leases.hpp>
#include <rdmanet/ops/lease_places.hpp>

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace rdmanet::ops {

/// What the network of the places leaves out is not in it, except for `other_pools`.
struct IpamSurvey {
    std::optional<leases::NodeLeases> node;   // nullopt: this is no node
    std::vector<attach::LeaseHolder> holders; // on this node
    std::string node_name;                    // of this node; empty: it has none

    // Of the Kubernetes API.
    cluster::SeenStores seen; // before any is left out
    std::vector<cluster::SeenPool> pools;
    std::vector<cluster::SeenPool> other_pools; // left out: reservations and pods don't say which pool theirs is
    std::vector<cluster::SeenReservation> reservations;
    cluster::DeclaredRanges ranges;
    std::vector<cluster::SeenBlock> blocks;
    std::optional<std::vector<cluster::SeenPod>> pods;   // nullopt: they can't be listed
    std::optional<std::vector<cluster::SeenNode>> nodes; // the same
    std::set<std::string> networks;                      // whose addresses are in pools

    std::vector<std::string> troubles; // stores that could not be read, one sentence each
    std::vector<std::string> unknown;  // what therefore is not known: no stale leases without pods
};

/// By the kubeconfig of the places, else as the pod that this process runs in; for their namespace, if they name one.
/// Throws base::Error if there is neither, or it can't be read.
[[nodiscard]] kube::Access find_access(const LeasePlaces& places);

/// The clients of the places, which connect when they are first asked for.
class IpamClients {
public:
    /// `places` must outlive it.
    explicit IpamClients(const LeasePlaces& places);
    ~IpamClients();

    [[nodiscard]] bool has_kube() const;
    /// Throws base::Error.
    [[nodiscard]] kube::Api& kube();

private:
    const LeasePlaces& places_;
    std::unique_ptr<kube::Api> kube_;
};

/// For reading a whole cluster.
[[nodiscard]] base::Deadline survey_deadline();

/// Reads all stores. One that can't be read is in `troubles`, and the others are read. What may be in use is read
/// before what may use it, so a pod that is made or deleted meanwhile leaves no lease that seems to be nobody's.
[[nodiscard]] IpamSurvey survey_ipam(const LeasePlaces& places, IpamClients& clients);

} // namespace rdmanet::ops
