// Addresses that this node gave back to a pool, and when: the pool's object has no place for that.
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

    /// `pool_uid`: of the pool's object. Of many addresses, those that were given back last are remembered.
    void note(const std::string& pool_uid, const std::vector<base::IpAddress>& given_back,
              const base::Deadline& deadline) const;

    /// Those that were given back to the pool less than `cooldown` ago, and when.
    [[nodiscard]] std::map<base::IpAddress, std::int64_t> resting(const std::string& pool_uid,
                                                                  std::chrono::seconds cooldown) const;

private:
    [[nodiscard]] base::BootMemory memory_of(const std::string& pool_uid) const;
    [[nodiscard]] std::map<base::IpAddress, std::int64_t> read(const std::string& pool_uid) const;

    std::string directory_;
    std::string boot_id_;
    Clock clock_;
};

} // namespace rdmanet::cluster
