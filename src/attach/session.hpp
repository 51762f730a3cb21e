// What all operations on one attachment need.
#pragma once

#include "leases.hpp"
#include "node_store.hpp"

#include "owners/attachment.hpp"

#include <rdmanet/cni/request.hpp>
#include <rdmanet/cni/result.hpp>
#include <rdmanet/ipam/allocator.hpp>

#include <functional>

namespace rdmanet::attach {

/// The attachment with its journal and its lease store.
struct Session : Attachment {
    explicit Session(const cni::Request& request, const Node& its_node, state::Access access = state::Access::change)
        : Attachment(request, its_node, access), leases(node, records) {}

    NodeStore leases;
};

/// The addresses of an ADD, from the store that its network names. `record` says afterwards where they are. A store
/// that the cluster shares outlives this node, so it is asked for nothing before the record says so: `save` writes it
/// down.
[[nodiscard]] ipam::Allocation take_leases(const ipam::Config& config, const cni::Request& request,
                                           state::AttachmentRecord& record, Session& session,
                                           const std::function<void()>& save, const base::Deadline& deadline);

/// Hands the store over: the one at `where`, else the node's own.
void with_store(const std::optional<state::LeaseStore>& where, ipam::Store& on_node, const Node& node,
                const state::AttachmentStore& records, const std::function<void(ipam::Store&)>& use);

/// The DNS settings of the configuration, or those of the IPAM if it has none.
[[nodiscard]] cni::Dns chosen_dns(const cni::Dns& configured, const cni::Dns& from_ipam);

/// The allocator's answer as a CNI result. Its addresses have no interface index yet.
[[nodiscard]] cni::Result to_result(const ipam::Allocation& allocation);

} // namespace rdmanet::attach
