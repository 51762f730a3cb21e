// The parts of a result, and of a request, that several operations need.
#pragma once

#include "lookup/call.hpp"

#include <rdmanet/cni/result.hpp>
#include <rdmanet/leases/leases.hpp>

#include <optional>

namespace rdmanet::attach {

/// Where the addresses of a DEL that finds no record may be, as far as this node knows it without asking. A
/// configuration that is wrong by now says nothing.
[[nodiscard]] std::optional<state::LeaseStore> remembered_place_of(const Call& call);

/// The DNS settings of the configuration, or those of the IPAM if it has none.
[[nodiscard]] cni::Dns chosen_dns(const cni::Dns& configured, const cni::Dns& from_ipam);

/// The allocator's answer as a CNI result. Its addresses have no interface index yet.
[[nodiscard]] cni::Result to_result(const ipam::Allocation& allocation);

} // namespace rdmanet::attach
