// `rdmanet ipam check`: the lease stores against journal, kernel, pods and nodes.
#pragma once

#include <rdmanet/ops/ipam_faults.hpp>
#include <rdmanet/ops/ipam_survey.hpp>

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace rdmanet::ops {

struct IpamRepair {
    std::vector<std::string> made;    // one sentence each
    std::vector<std::string> refused; // the same, with the reason
};

struct IpamCheck {
    IpamRepair repair{}; // done before it looked
    cluster::SeenStores seen{};
    std::vector<IpamFault> faults;
    std::size_t leases = 0;            // that were looked at
    std::size_t blocks = 0;            // the same
    std::vector<std::string> troubles; // stores that could not be read
    std::vector<std::string> unknown;  // what could not be compared
};

/// Makes again what the stores lack of the addresses that living attachments of this node have. `places` must have a
/// state directory. Throws base::Error if there is none, or it can't be read.
[[nodiscard]] IpamRepair repair_ipam(const LeasePlaces& places);

/// What a first look finds wrong is looked at again after `pause`: what is just being made or removed has changed then.
[[nodiscard]] IpamCheck check_ipam(const LeasePlaces& places, IpamClients& clients, std::chrono::seconds pause);

[[nodiscard]] std::string to_text(const IpamCheck& check);
[[nodiscard]] std::string to_json(const IpamCheck& check);

} // namespace rdmanet::ops
