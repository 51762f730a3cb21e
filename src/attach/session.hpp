// What all operations on one attachment need.
#pragma once

#include "leases.hpp"

#include "owners/attachment.hpp"

#include <rdmanet/cni/request.hpp>
#include <rdmanet/cni/result.hpp>
#include <rdmanet/ipam/allocator.hpp>

namespace rdmanet::attach {

/// The attachment with its journal and its lease store.
struct Session : Attachment {
    explicit Session(const cni::Request& request, const Node& its_node, state::Access access = state::Access::change)
        : Attachment(request, its_node, access), leases(open_leases(node, records)) {}

    ipam::SqliteStore leases;
};

/// The DNS settings of the configuration, or those of the IPAM if it has none.
[[nodiscard]] cni::Dns chosen_dns(const cni::Dns& configured, const cni::Dns& from_ipam);

/// The allocator's answer as a CNI result. Its addresses have no interface index yet.
[[nodiscard]] cni::Result to_result(const ipam::Allocation& allocation);

} // namespace rdmanet::attach
