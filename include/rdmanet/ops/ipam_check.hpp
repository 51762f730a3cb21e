// `rdmanet ipam check`: the lease stores against journal, kernel, pods and nodes.
#pragma once

#include <rdmanet/ops/ipam_faults.hpp>
#include <rdmanet/ops/ipam_survey.hpp>

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace rdmanet::ops {

struct IpamCheck {
    std::vector<IpamFault> faults;
    std::size_t leases = 0;            // that were looked at
    std::size_t blocks = 0;            // the same
    std::vector<std::string> troubles; // stores that could not be read
    std::vector<std::string> unknown;  // what could not be compared
};

/// What a first look finds wrong is looked at again after `pause`: what is just being made or removed has changed then.
[[nodiscard]] IpamCheck check_ipam(const LeasePlaces& places, IpamClients& clients, std::chrono::seconds pause);

[[nodiscard]] std::string to_text(const IpamCheck& check);
[[nodiscard]] std::string to_json(const IpamCheck& check);

} // namespace rdmanet::ops
