// What the RDMA device of a shared-mode parent must offer before, and has to show after an ADD.
#pragma once

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/logger.hpp>
#include <rdmanet/config/config.hpp>
#include <rdmanet/kernel/gid.hpp>
#include <rdmanet/kernel/link.hpp>
#include <rdmanet/kernel/rdma.hpp>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace rdmanet::attach {

/// The parent's RDMA port, if the policy wants one. Throws CniError where RDMA is required and the parent has no RDMA
/// device or the node's RDMA namespace mode is not shared.
[[nodiscard]] std::optional<kernel::RdmaPort> find_rdma(const config::RdmaPolicy& policy, const kernel::Link& parent,
                                                        const std::string& network, const base::Logger& log,
                                                        const base::Deadline& deadline);

/// For a child of an IPoIB interface, whose GID is its port's: throws CniError where RDMA is required and the node's
/// RDMA namespace mode is not shared.
void require_rdma_of_ipoib(const config::RdmaPolicy& policy, const kernel::Link& parent, const std::string& network,
                           const base::Deadline& deadline);

/// Who has the entries of a full table, for errors (see describe_gid_holders()). May throw base::Error.
using GidHolders = std::function<std::string()>;

/// Throws CniError, or logs a warning as the policy says, if the GID table of the port, which is that of `parent`, has
/// no room for `addresses` more addresses. Where the new interface's link-local address takes the last places,
/// wait_for_gids() finds out. `holders` may be empty.
void require_gid_room(const config::RdmaPolicy& policy, const kernel::RdmaPort& port, const std::string& parent,
                      std::size_t addresses, const GidHolders& holders, const base::Logger& log);

/// Throws CniError if `addresses` and the link-local one take more entries of the table than the policy lets one
/// attachment have.
void require_gid_share(const config::RdmaPolicy& policy, const kernel::RdmaPort& port, std::size_t addresses);

/// Waits until the kernel has made GIDs of the addresses, as `sysfs` shows them (see kernel/gid.hpp): it does so from a
/// work queue, a moment after the address is set, and a pod that is quicker fails at its first RDMA connection. Throws
/// or logs, as the policy says, when time is over. `holders` may be empty.
void wait_for_gids(const config::RdmaPolicy& policy, const kernel::RdmaPort& port, const std::string& ifname,
                   const std::vector<base::IpAddress>& addresses, const base::Logger& log,
                   const GidHolders& holders = {}, const std::string& sysfs = kernel::kRdmaSysfs);

/// Those of `addresses` that are no GIDs of the port bound to `ifname`, in each of the types that the port has.
[[nodiscard]] std::vector<base::IpAddress> missing_gids(const kernel::RdmaPort& port, const std::string& ifname,
                                                        const std::vector<base::IpAddress>& addresses,
                                                        const std::string& sysfs = kernel::kRdmaSysfs);

} // namespace rdmanet::attach
