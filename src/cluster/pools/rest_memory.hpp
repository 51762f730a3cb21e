// Addresses that this node gave back to a pool, when, and who had them: the pool's object has no place for that.
#pragma once

#include <rdmanet/base/boot_memory.hpp>
#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/ip_address.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace rdmanet::cluster {

/// Ends with the boot. Files that can't be read or written count as empty: then an address does not rest.
class RestMemory {
public:
    /// Of CLOCK_BOOTTIME, in seconds.
    using Clock = std::function<std::int64_t()>;
    /// Without a state directory it remembers nothing.
    RestMemory(std::string state_directory, std::string boot_id, Clock clock);

    /// By address, ipam::Owner::name_hash() of who had it; 0: another host has it.
    using GivenBack = std::map<base::IpAddress, std::uint64_t>;
    /// `pool_uid`: of the pool's object. Of many addresses, those that were given back last are remembered.
    void note(const std::string& pool_uid, const GivenBack& given_back, const base::Deadline& deadline) const;

    struct Remembered {
        std::map<base::IpAddress, std::int64_t> resting; // and since when
        std::vector<base::IpAddress> own;                // these had the asking pod
    };
    /// `cooldown`: how long addresses of the pool rest.
    [[nodiscard]] Remembered find(const std::string& pool_uid, std::chrono::seconds cooldown,
                                  std::uint64_t whose = 0) const;

private:
    [[nodiscard]] base::BootMemory memory_of(const std::string& pool_uid) const;
    struct Rest {
        std::int64_t since = 0;
        std::uint64_t whose = 0;
    };
    [[nodiscard]] std::map<base::IpAddress, Rest> read(const std::string& pool_uid) const;

    std::string directory_;
    std::string boot_id_;
    Clock clock_;
};

} // namespace rdmanet::cluster
