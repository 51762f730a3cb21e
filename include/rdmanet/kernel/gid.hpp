// GIDs: the addresses in an RDMA port's table, as sysfs shows them (Documentation/ABI/stable/sysfs-class-infiniband).
// The table is one for all namespaces, sparse, and shorter or longer with each device.
#pragma once

#include <rdmanet/base/ip_address.hpp>
#include <rdmanet/kernel/rdma.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rdmanet::kernel {

/// RDMA devices of the namespace that sysfs was mounted in. Another root is for tests.
inline constexpr const char* kRdmaSysfs = "/sys/class/infiniband";

enum class GidType : std::uint8_t { unknown, ib_or_roce_v1, roce_v2 };
/// As in sysfs: "IB/RoCE v1", "RoCE v2".
[[nodiscard]] std::string_view to_string(GidType type);

struct GidEntry {
    unsigned index = 0;      // another one when the address is set again: nothing to write down
    base::IpAddress address; // of RoCE: the interface's IPv4 address (GID ::ffff:a.b.c.d) or IPv6 address
    GidType type = GidType::unknown;
    std::string netdev; // a name without its namespace: many pods have a "net1"; empty for InfiniBand
};

/// Of RoCE: an address has an entry in each.
inline constexpr std::size_t kMostGidTypes = 2;

struct FoundGids {
    std::vector<GidEntry> entries;
    std::size_t types = 0; // see GidTable; as far as the table was read
};
/// Entries of `addresses` bound to the net device `netdev`. Costs one file for each place of the table and three for
/// each hit, and ends with the last that there can be: an address normally has two, RoCE v1 and v2. Empty if the port
/// is gone. Throws base::SystemError.
[[nodiscard]] FoundGids find_gids(const RdmaPort& port, std::span<const base::IpAddress> addresses,
                                  const std::string& netdev, const std::string& root = kRdmaSysfs);

/// Every entry that is in use, in the order of the table. Empty if the port is gone. Throws base::SystemError.
[[nodiscard]] std::vector<GidEntry> list_gids(const RdmaPort& port, const std::string& root = kRdmaSysfs);

/// In entries.
struct GidTable {
    std::size_t length = 0; // 0: the port is gone
    std::size_t used = 0;
    /// Types of the entries of each address, told by the first one's: hardware has RoCE v1 and v2, rdma_rxe only v2. 0:
    /// empty table.
    std::size_t types = 0;
};
[[nodiscard]] GidTable read_gid_table(const RdmaPort& port, const std::string& root = kRdmaSysfs);

/// Whether that many places of the table are free. Reads no more of it than tells, from its end: the kernel takes the
/// first place that is free (find_gid(), drivers/infiniband/core/cache.c).
[[nodiscard]] bool has_free_gids(const RdmaPort& port, std::size_t count, const std::string& root = kRdmaSysfs);

} // namespace rdmanet::kernel
