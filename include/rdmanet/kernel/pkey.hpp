// P_Keys: the partitions of an InfiniBand port, in the table that its subnet manager writes. sysfs shows it
// (Documentation/ABI/stable/sysfs-class-infiniband, "pkeys").
#pragma once

#include <rdmanet/kernel/gid.hpp>
#include <rdmanet/kernel/rdma.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rdmanet::kernel {

/// Bit 15 of a P_Key: a full member. Limited members reach only full ones (InfiniBand specification, 10.9.3).
inline constexpr std::uint16_t kFullMember = 0x8000;

/// True if both are of one partition, whatever the membership.
[[nodiscard]] constexpr bool is_same_partition(std::uint16_t one, std::uint16_t other) {
    return (one | kFullMember) == (other | kFullMember);
}

struct PkeyEntry {
    unsigned index = 0; // place in the table
    std::uint16_t pkey = 0;
};

/// Every valid entry, in the order of the table. Costs a file for each place, of which hardware has 128. Empty if the
/// port is gone. Throws base::SystemError.
[[nodiscard]] std::vector<PkeyEntry> list_pkeys(const RdmaPort& port, const std::string& root = kRdmaSysfs);

/// The port's entry for the partition, full membership first, as the kernel chooses it (ib_find_cached_pkey(),
/// drivers/infiniband/core/cache.c). nullopt if the port is not a member.
[[nodiscard]] std::optional<PkeyEntry> find_partition(const std::vector<PkeyEntry>& table, std::uint16_t pkey);

} // namespace rdmanet::kernel
