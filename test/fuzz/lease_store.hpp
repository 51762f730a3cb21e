// The fuzz targets of the lease store share a directory, a clock that the input sets, owners and claims.
#pragma once

#include "support/directory.hpp"

#include <rdmanet/ipam/store/lease_file.hpp>

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace rdmanet::fuzz {

/// test/fuzz/run.sh puts it into memory.
inline void clear(const test::Directory& directory) {
    for (const auto& entry : std::filesystem::directory_iterator(directory.path())) std::filesystem::remove_all(entry);
}

/// On a busy machine. libFuzzer ends an input that takes longer.
inline base::Deadline soon() {
    return base::Deadline::in(std::chrono::seconds(30));
}

/// Like a real container ID, it has 64 characters, so that damage does not turn one ID into another by chance.
inline ipam::Owner owner(unsigned number, std::string pod_uid = {}) {
    return {
        .key = {.network = "net", .container_id = std::string(62, 'c') + std::to_string(10 + number), .ifname = "net1"},
        .pod_name = pod_uid,
        .pod_uid = std::move(pod_uid),
        .netns_path = "/run/netns/" + std::to_string(number),
        .netns_inode = 0xffff'ffff'0000'0000U + number,
        .boot_id = "boot"};
}

/// The addresses at these distances from the first one of `subnet`, both ends included.
inline ipam::Claim claim(std::string_view subnet, std::vector<ipam::Interval> distances, int cooldown) {
    const base::IpPrefix prefix = base::IpPrefix::parse(subnet).value();
    for (ipam::Interval& interval : distances) {
        interval.first += prefix.network().value();
        interval.last += prefix.network().value();
    }
    return {.space = {},
            .family = prefix.family(),
            .prefix_length = prefix.length(),
            .usable = std::move(distances),
            .wanted = {},
            .cooldown = std::chrono::seconds(cooldown)};
}

[[nodiscard]] inline bool is_usable(const ipam::Claim& claim, const base::IpAddress& address) {
    if (address.family() != claim.family) return false;
    for (const ipam::Interval& interval : claim.usable)
        if (interval.contains(address.value())) return true;
    return false;
}

} // namespace rdmanet::fuzz
