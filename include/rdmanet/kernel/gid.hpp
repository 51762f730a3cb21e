// GIDs: the entries of an RDMA port's address table in sysfs (Documentation/ABI/stable/sysfs-class-infiniband). All
// namespaces share the table. It is sparse, and its length depends on the device.
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

/// RDMA devices of the namespace that sysfs was mounted in. Tests use another root.
inline constexpr const char* kRdmaSysfs = "/sys/class/infiniband";

enum class GidType : std::uint8_t { unknown, ib_or_roce_v1, roce_v2 };
/// The words of sysfs: "IB/RoCE v1", "RoCE v2".
[[nodiscard]] std::string_view to_string(GidType type);

struct GidEntry {
    unsigned index = 0;      // changes when the address is set again, so it is never recorded
    base::IpAddress address; // RoCE: the interface's IPv4 address (GID ::ffff:a.b.c.d) or IPv6 address
    GidType type = GidType::unknown;
    std::string netdev; // without its namespace, so many pods have a "net1"; empty for InfiniBand
};

/// Types of RoCE. An address has an entry for each.
inline constexpr std::size_t kMostGidTypes = 2;

struct FoundGids {
    std::vector<GidEntry> entries;
    std::size_t types = 0; // see GidTable; as far as the table was read
};
/// Entries of `addresses` that are bound to the net device `netdev`. Costs one file for each place of the table and
/// three for each match, and stops at the last possible match: an address normally has two, RoCE v1 and v2. Empty if
/// the port is gone. Throws base::SystemError.
[[nodiscard]] FoundGids find_gids(const RdmaPort& port, std::span<const base::IpAddress> addresses,
                                  const std::string& netdev, const std::string& root = kRdmaSysfs);

/// Every used entry, in the order of the table. Empty if the port is gone. Throws base::SystemError.
[[nodiscard]] std::vector<GidEntry> list_gids(const RdmaPort& port, const std::string& root = kRdmaSysfs);

/// Counted in entries.
struct GidTable {
    std::size_t length = 0; // 0: the port is gone
    std::size_t used = 0;
    /// The number of entries for each address, taken from the first one: hardware has RoCE v1 and v2, rdma_rxe only
    /// v2. 0 for an empty table.
    std::size_t types = 0;
};
[[nodiscard]] GidTable read_gid_table(const RdmaPort& port, const std::string& root = kRdmaSysfs);

/// Whether that many places of the table are free. Reads only as much as needed, from the end, because the kernel
/// takes the first free place (find_gid(), drivers/infiniband/core/cache.c).
[[nodiscard]] bool has_free_gids(const RdmaPort& port, std::size_t count, const std::string& root = kRdmaSysfs);

} // namespace rdmanet::kernel
