// The fuzz targets of the lease store share a directory, a clock that the input sets, owners and claims.
#pragma once

#include <rdmanet/ipam/store/sqlite_store.hpp>

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace rdmanet::fuzz {

/// Lies in TMPDIR, which test/fuzz/run.sh puts into memory.
class Directory {
public:
    Directory() : path_(std::filesystem::temp_directory_path() / "rdmanet-fuzz-XXXXXX") {
        if (::mkdtemp(path_.data()) == nullptr) throw std::runtime_error("mkdtemp");
    }
    Directory(const Directory&) = delete;
    Directory& operator=(const Directory&) = delete;
    ~Directory() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }

    [[nodiscard]] const std::string& path() const { return path_; }
    void clear() const {
        for (const auto& entry : std::filesystem::directory_iterator(path_)) std::filesystem::remove_all(entry);
    }

private:
    std::string path_;
};

inline base::Deadline soon() {
    return base::Deadline::in(std::chrono::seconds(2));
}

/// Like a real container ID, it has 64 characters, so that damage does not turn one ID into another by chance.
inline ipam::Owner owner(unsigned number, std::string pod_uid = {}) {
    return {
        .key = {.network = "net", .container_id = std::string(62, 'c') + std::to_string(10 + number), .ifname = "net1"},
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
