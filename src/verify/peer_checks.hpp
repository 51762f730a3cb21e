// What can only be checked when the other end is known.
#pragma once

#include <rdmanet/verify/check.hpp>
#include <rdmanet/verify/endpoint.hpp>

#include <vector>

namespace rdmanet::verify {

/// Call it in the network namespace of `here`. Throws base::Error.
[[nodiscard]] std::vector<Check> check_peer(const Endpoint& here, const Endpoint& peer);

} // namespace rdmanet::verify
