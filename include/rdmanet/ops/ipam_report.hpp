// `rdmanet ipam show`: what the lease stores have, whoever wrote it.
#pragma once

#include <rdmanet/ops/lease_places.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace rdmanet::ops {

/// A range of addresses, as a store has it.
struct SeenRange {
    std::string store;  // "whereabouts", "blocks"
    std::string space;  // `network_name`
    std::string range;  // as the object says
    std::string object; // "NAMESPACE/NAME"
    std::size_t leases = 0;
    std::optional<unsigned> percent{}; // of what the API server stores in one object
    std::string trouble{};
};

struct SeenLease {
    std::string store;
    std::string space;
    std::string address; // or the key that can't be read
    std::string network;
    std::string pod; // "NAMESPACE/NAME"
    std::string container_id;
    std::string ifname;
    std::string node;
    std::vector<std::string> marks{}; // "foreign", "double", "unreadable"
    std::string trouble{};            // what the marks mean here
};

struct IpamReport {
    std::vector<SeenRange> ranges;
    std::vector<SeenLease> leases;
    std::vector<std::string> troubles; // stores that could not be read, one sentence each
};

/// Reads the stores. One that can't be read is in `troubles`, and the others are read. Changes nothing.
[[nodiscard]] IpamReport read_ipam(const LeasePlaces& places);

[[nodiscard]] std::string to_table(const IpamReport& report);
/// {"ranges": [...], "leases": [...], "troubles": [...]}
[[nodiscard]] std::string to_json(const IpamReport& report);

} // namespace rdmanet::ops
