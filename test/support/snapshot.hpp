// What a node looks like, as lines of text, and how two looks differ.
#pragma once

#include <cstdint>
#include <set>
#include <string>

namespace rdmanet::test {

/// Of net devices, RDMA devices and IPoIB's queue pairs. The kernel draws new ones when a driver is bound anew or an
/// IPoIB interface follows its RDMA device; everything else keeps its own.
enum class Numbers : std::uint8_t { compared, ignored };

/// Links with all details, addresses, routes, VFs, RDMA devices with their namespaces, GIDs, the sysctls that the
/// plugin touches, of the host and of every named network namespace; attachment records, leases, stray files of the
/// state directory, and what is wrong with the lease database. Taken with iproute2, SQLite and by reading files: none
/// of the plugin's own code looks at itself.
class Snapshot {
public:
    [[nodiscard]] static Snapshot take(Numbers numbers = Numbers::compared);
    /// Waits until the kernel has finished what it does later with links that were set up just now (see pending.hpp).
    /// Throws with the first link or address that stays unfinished.
    [[nodiscard]] static Snapshot take_settled(Numbers numbers);

    /// Lines that only one has, "- " gone and "+ " new; empty if the node is as it was. A pod's loopback that got IPv6
    /// switched on is no difference: ADD may do that, and DEL leaves it (enable_ipv6() of the room kernel).
    [[nodiscard]] std::string difference_to(const Snapshot& later) const;

private:
    std::multiset<std::string> lines_;
};

} // namespace rdmanet::test
