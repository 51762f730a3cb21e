// GIDs: the addresses in an RDMA port's table, as sysfs shows them (Documentation/ABI/stable/sysfs-class-infiniband).
#pragma once

#include <rdmanet/base/ip_address.hpp>

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rdmanet::kernel {

/// Network byte order.
using Gid = std::array<unsigned char, 16>;

/// Of a RoCE interface's address: an IPv6 address itself, an IPv4 address as ::ffff:a.b.c.d.
[[nodiscard]] Gid gid_of(const base::IpAddress& address);
/// "0000:0000:0000:0000:0000:ffff:0a01:0203", as in sysfs.
[[nodiscard]] std::string to_string(const Gid& gid);
[[nodiscard]] std::optional<Gid> parse_gid(std::string_view text);

enum class GidType : std::uint8_t { unknown, ib_or_roce_v1, roce_v2 };

struct GidEntry {
    unsigned index = 0; // moves when the address is set again: nothing to write down
    Gid gid{};
    GidType type = GidType::unknown;
    std::string netdev; // a name without its namespace: many pods have a "net1"; empty for InfiniBand
};

/// The class directory of RDMA devices. It shows the devices of the namespace that sysfs was mounted in.
class RdmaSysfs {
public:
    explicit RdmaSysfs(std::string root = "/sys/class/infiniband") : root_(std::move(root)) {}

    /// Entries in use, each with its type and net device. Reads the whole table, 256 entries commonly. Empty if there
    /// is no such device or port. Throws base::SystemError.
    [[nodiscard]] std::vector<GidEntry> list_gids(std::string_view device, unsigned port) const;

    /// Entries whose GID belongs to one of `addresses` and whose net device is called `netdev`. Costs one file per
    /// table entry. Throws base::SystemError.
    [[nodiscard]] std::vector<GidEntry> find_gids(std::string_view device, unsigned port,
                                                  std::span<const base::IpAddress> addresses,
                                                  std::string_view netdev) const;

    /// Entries that the table has room for; 0 if there is no such device or port.
    [[nodiscard]] unsigned gid_table_length(std::string_view device, unsigned port) const;

private:
    [[nodiscard]] std::string port_path(std::string_view device, unsigned port) const;

    std::string root_;
};

} // namespace rdmanet::kernel
