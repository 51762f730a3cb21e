// RDMA in shared mode: what the parent's port must have before ADD, and the GIDs that it must have after ADD.
#pragma once

#include "call.hpp"

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

/// Throws the error of a network that cannot have the RDMA it asks for.
[[noreturn]] void refuse_rdma(const std::string& why);

/// The parent's RDMA port, if the policy asks for RDMA. Throws CniError if RDMA is required, and the parent has no
/// RDMA device or the node's RDMA mode is not shared.
[[nodiscard]] std::optional<kernel::RdmaPort> find_rdma(const kernel::Link& parent, const Call& call);

/// The same for an IPoIB child, whose GID is that of the port: throws CniError if RDMA is required and the node's
/// RDMA mode is not shared.
void require_rdma_of_ipoib(const kernel::Link& parent, const Call& call);

/// Describes who holds the entries of a full GID table (see describe_gid_holders()). May throw base::Error.
using GidHolders = std::function<std::string()>;

/// Throws CniError or logs a warning, as the policy says, if the GID table of the parent's port has no room for
/// `addresses` more addresses. If the new interface's link-local address takes the last entries, wait_for_gids()
/// finds that later. `holders` may be empty.
void require_gid_room(const kernel::RdmaPort& port, const std::string& parent, std::size_t addresses,
                      const GidHolders& holders, const Call& call);

/// Throws CniError if the addresses, with the link-local one, need more entries than the policy allows one
/// attachment.
void require_gid_share(const config::RdmaPolicy& policy, const kernel::RdmaPort& port, std::size_t addresses);

/// The GIDs of an interface on a port.
struct InterfaceGids {
    const kernel::RdmaPort& port;
    const std::string& ifname;
    std::string sysfs = kernel::kRdmaSysfs; // see kernel/gid.hpp
};

/// Waits until the port has the GIDs of the addresses. The kernel adds them from a work queue, a moment after the
/// address is set. A pod that connects earlier would fail. When the time is over, throws CniError or logs a warning, as
/// the policy says. `holders` may be empty.
void wait_for_gids(const InterfaceGids& gids, const std::vector<base::IpAddress>& addresses, const GidHolders& holders,
                   const Call& call);

/// The addresses that lack a GID, in at least one of the port's GID types.
[[nodiscard]] std::vector<base::IpAddress> missing_gids(const InterfaceGids& gids,
                                                        const std::vector<base::IpAddress>& addresses);

} // namespace rdmanet::attach
