// The state of a node as lines of text, and the difference of two such states.
#pragma once

#include <cstdint>
#include <set>
#include <string>

namespace rdmanet::test {

/// Numbers of net devices, RDMA devices and IPoIB's queue pairs. The kernel changes them when a driver is bound again
/// or an IPoIB interface follows its RDMA device.
enum class Numbers : std::uint8_t { compared, ignored };

/// Whether a file of the state directory has only what the node can find out again (base::BootMemory).
[[nodiscard]] bool is_boot_memory(const std::string& file);

/// For the host and every named network namespace: links with all details, addresses, routes, VFs, RDMA devices,
/// GIDs, and the sysctls that the plugin touches. Also attachment records, leases, stray files of the state
/// directory, and damage of the files of leases. Uses iproute2 and files, and none of the plugin's own code.
class Snapshot {
public:
    [[nodiscard]] static Snapshot take(Numbers numbers = Numbers::compared);
    /// Waits until the kernel has finished with links that were just set up (see pending.hpp). Throws with the first
    /// link or address that stays unfinished.
    [[nodiscard]] static Snapshot take_settled(Numbers numbers);

    /// Lines that only one snapshot has: "- " gone, "+ " new. Empty if nothing differs. A pod's loopback whose IPv6
    /// was switched on is not a difference: ADD may do that, and DEL leaves it (enable_ipv6() of module kernel).
    [[nodiscard]] std::string difference_to(const Snapshot& later) const;

private:
    std::multiset<std::string> lines_;
};

} // namespace rdmanet::test
