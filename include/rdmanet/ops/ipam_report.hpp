// `rdmanet ipam show`: what the lease stores have, whoever wrote it.
#pragma once

#include <rdmanet/ops/ipam_survey.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rdmanet::ops {

/// A range of addresses, as a store has it.
struct RangeRow {
    std::string store;                 // "pools", "blocks"; empty: an AddressRange that counts for nothing
    std::string space;                 // `network_name`
    std::string range;                 // as the object says
    std::string object;                // its kind and name
    std::size_t leases = 0;            // or blocks
    std::size_t empty_blocks = 0;      // as last written
    std::optional<unsigned> percent{}; // of what the API server stores in one object
    std::vector<std::string> marks{};
};

struct BlockRow {
    std::string object;
    std::string space;
    std::string block;
    std::string range;
    std::string node;
    std::uint64_t in_use = 0; // as last written
    std::string in_use_at;
    std::vector<std::string> marks{};
};

struct LeaseRow {
    std::string store;
    std::string space;
    std::string address; // or the key that can't be read
    std::string network;
    std::string pod; // "NAMESPACE/NAME"
    std::string container_id;
    std::string ifname;
    std::string node;
    std::vector<std::string> marks{}; // "foreign", "double", "stale", "unreadable", "size"
};

struct IpamReport {
    cluster::SeenStores seen{};
    std::vector<RangeRow> ranges;
    std::vector<BlockRow> blocks;
    std::vector<LeaseRow> leases;
    std::vector<std::string> faults;   // what the marks mean
    std::vector<std::string> troubles; // stores that could not be read, one sentence each
    std::vector<std::string> unknown;  // what therefore is not marked
};

/// `node`: only what this node has; empty: all. Blocks and leases of no known node are not among it.
[[nodiscard]] IpamReport report_ipam(const IpamSurvey& survey, const std::string& node = {});

[[nodiscard]] std::string to_table(const IpamReport& report);
/// {"ranges": [...], "blocks": [...], "leases": [...], "faults": [...], "troubles": [...], "unknown": [...]}
[[nodiscard]] std::string to_json(const IpamReport& report);

} // namespace rdmanet::ops
