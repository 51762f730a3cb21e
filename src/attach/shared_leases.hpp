// Leases in a store that the cluster shares. The record says where they are, so that they are given back whatever the
// configuration says by then.
#pragma once

#include <rdmanet/attach/node.hpp>
#include <rdmanet/cni/request.hpp>
#include <rdmanet/ipam/config.hpp>
#include <rdmanet/ipam/store.hpp>
#include <rdmanet/kube/api.hpp>
#include <rdmanet/state/attachment_store.hpp>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>

namespace rdmanet::attach {

/// What ADD does with the store of a cluster, and why with that one.
[[nodiscard]] std::string describe_store(const ipam::StoreChoice& store);

/// For the record of an attachment of this network. nullopt: its leases are in the node's own store.
[[nodiscard]] std::optional<state::LeaseStore> lease_store_of(const ipam::Config& config);

/// The same for a DEL that finds no record. A configuration that is wrong by now says nothing.
[[nodiscard]] std::optional<state::LeaseStore> lease_store_of(const cni::Request& request);

/// The cluster's store, as one attachment uses it.
class SharedLeases {
public:
    using BeforeClaim = std::function<void(const ipam::Lease&)>;

    /// Reads the files that say how to reach it, and asks nobody anything. Throws ipam::StoreError.
    SharedLeases(const state::LeaseStore& where, const Node& node, const state::AttachmentStore& records,
                 BeforeClaim before_claim = {});

    [[nodiscard]] ipam::Store& store() { return *store_; }

private:
    void open_whereabouts(const state::LeaseStore& where, const Node& node, BeforeClaim before_claim);
    [[nodiscard]] std::optional<ipam::Owner> known_owner(const std::string& container_id, const std::string& ifname);

    const state::AttachmentStore& records_;
    std::optional<std::map<std::pair<std::string, std::string>, ipam::Owner>> known_owners_; // once they are asked for
    std::unique_ptr<kube::Api> api_;                                                         // of whereabouts
    std::unique_ptr<ipam::Store> store_;
};

} // namespace rdmanet::attach
