// What all operations on one attachment need.
#pragma once

#include "owners/attachment.hpp"

#include <rdmanet/cni/request.hpp>
#include <rdmanet/cni/result.hpp>
#include <rdmanet/leases/leases.hpp>

namespace rdmanet::attach {

/// The attachment with its journal and its leases.
struct Session : Attachment {
    explicit Session(const cni::Request& request, const Node& its_node, state::Access access = state::Access::change)
        : Attachment(request, its_node, access), leases(node, records) {}

    leases::Leases leases;
};

/// Where the addresses of a DEL that finds no record may be, as far as this node knows it without asking. A
/// configuration that is wrong by now says nothing.
[[nodiscard]] std::optional<state::LeaseStore> remembered_place_of(const cni::Request& request, leases::Leases& leases);

/// The DNS settings of the configuration, or those of the IPAM if it has none.
[[nodiscard]] cni::Dns chosen_dns(const cni::Dns& configured, const cni::Dns& from_ipam);

/// The allocator's answer as a CNI result. Its addresses have no interface index yet.
[[nodiscard]] cni::Result to_result(const ipam::Allocation& allocation);

} // namespace rdmanet::attach
