#include "shared_rdma.hpp"

#include <rdmanet/base/text.hpp>
#include <rdmanet/cni/error.hpp>

#include <algorithm>
#include <thread>

namespace rdmanet::attach {
namespace {

using base::concat;
using base::quoted;

[[noreturn]] void refuse(const std::string& message) {
    throw cni::CniError(cni::ErrorCode::rdma, message);
}

/// If RDMA is required, this ends the ADD. If it is used only where present, the pod gets none.
std::optional<kernel::RdmaPort> without_rdma(const config::RdmaPolicy& policy, const std::string& why,
                                             const base::Logger& log) {
    if (policy.demand == config::RdmaDemand::required) refuse(why);
    log.debug(why);
    return std::nullopt;
}

std::string needs_shared_mode(const std::string& network) {
    return concat("rdma netns mode is exclusive, network ", quoted(network),
                  " needs shared: run `rdma system set netns shared` before any pod starts");
}

void refuse_or_warn(const config::RdmaPolicy& policy, const std::string& what, const base::Logger& log) {
    if (policy.on_missing_gid == config::OnMissingGid::refuse) refuse(what);
    log.warn(what);
}

/// Finding the holders means entering each pod, so it is done only for an error. If it fails, the error is reported
/// without them.
std::string find_holders(const config::RdmaPolicy& policy, const GidHolders& holders) try {
    return holders && policy.on_missing_gid == config::OnMissingGid::refuse ? holders() : std::string();
} catch (const base::Error&) {
    return {};
}

std::string full_table_cure(const config::RdmaPolicy& policy, const GidHolders& holders) {
    const std::string who = find_holders(policy, holders);
    return concat(who.empty() ? "" : "most have ", who, who.empty() ? "" : "; ",
                  "remove pods or addresses, spread the pods over more parents, or limit what one pod takes by ",
                  "\"rdma.maxGids\"");
}

/// How many GIDs an address gets. An empty table does not show that; NICs have two types, RoCE v1 and v2.
std::size_t gids_of_an_address(std::size_t types) {
    return types == 0 ? kernel::kMostGidTypes : types;
}

} // namespace

std::optional<kernel::RdmaPort> find_rdma(const config::RdmaPolicy& policy, const kernel::Link& parent,
                                          const std::string& network, const base::Logger& log,
                                          const base::Deadline& deadline) {
    if (policy.demand == config::RdmaDemand::ignored) return std::nullopt;
    const std::string asks = concat("network ", quoted(network), " asks for RDMA (\"rdma\")");
    auto socket = kernel::Socket::find_rdma(deadline);
    if (!socket)
        return without_rdma(
            policy,
            concat("this kernel has no RDMA loaded, ", asks, ": load the NIC's RDMA driver, e.g. `modprobe mlx5_ib`"),
            log);
    auto port = kernel::find_rdma_port(*socket, parent);
    if (!port)
        return without_rdma(policy,
                            concat("parent ", quoted(parent.name), " has no RDMA device, ", asks,
                                   ": choose a parent that `rdma link` shows, or remove \"rdma\""),
                            log);
    if (kernel::rdma_netns_mode(*socket) != kernel::RdmaNetnsMode::shared)
        return without_rdma(policy, needs_shared_mode(network), log);
    return port;
}

void require_rdma_of_ipoib(const config::RdmaPolicy& policy, const kernel::Link& parent, const std::string& network,
                           const base::Deadline& deadline) {
    if (policy.demand != config::RdmaDemand::required) return;
    auto socket = kernel::Socket::find_rdma(deadline);
    if (!socket) refuse(concat("parent ", quoted(parent.name), " has no RDMA device: load its driver"));
    if (kernel::rdma_netns_mode(*socket) != kernel::RdmaNetnsMode::shared) refuse(needs_shared_mode(network));
}

void require_gid_room(const config::RdmaPolicy& policy, const kernel::RdmaPort& port, const std::string& parent,
                      std::size_t addresses, const GidHolders& holders, const base::Logger& log) {
    if (!policy.wait_for_gids) return;
    if (kernel::has_free_gids(port, addresses * kernel::kMostGidTypes)) return;
    const kernel::GidTable table = kernel::read_gid_table(port);
    const std::size_t needed = addresses * gids_of_an_address(table.types);
    if (table.length - table.used >= needed) return;
    refuse_or_warn(policy,
                   concat("GID table of ", port, ", parent ", quoted(parent), ", is full: ", table.used, " of ",
                          table.length, " entries used, ", needed, " more needed; ", full_table_cure(policy, holders)),
                   log);
}

void require_gid_share(const config::RdmaPolicy& policy, const kernel::RdmaPort& port, std::size_t addresses) {
    if (!policy.most_gids) return;
    const std::size_t types = gids_of_an_address(kernel::read_gid_table(port).types);
    const std::size_t needed = (addresses + (policy.link_local_gids ? 1 : 0)) * types;
    if (needed <= *policy.most_gids) return;
    throw cni::CniError(cni::ErrorCode::invalid_network_config,
                        concat("rdma.maxGids: ", *policy.most_gids, " entries of the GID table of ", port,
                               " are too few: the pod's addresses",
                               policy.link_local_gids ? ", with the link-local one," : "", " take ", needed,
                               ": raise it, or give the pod fewer addresses",
                               policy.link_local_gids ? ", or set \"rdma.linkLocalGids\" to false" : ""));
}

std::vector<base::IpAddress> missing_gids(const kernel::RdmaPort& port, const std::string& ifname,
                                          const std::vector<base::IpAddress>& addresses, const std::string& sysfs) {
    std::vector<base::IpAddress> missing;
    const kernel::FoundGids present = kernel::find_gids(port, addresses, ifname, sysfs);
    for (const base::IpAddress& address : addresses) {
        const auto found = std::count_if(present.entries.begin(), present.entries.end(),
                                         [&](const kernel::GidEntry& entry) { return entry.address == address; });
        if (static_cast<std::size_t>(found) < gids_of_an_address(present.types)) missing.push_back(address);
    }
    return missing;
}

void wait_for_gids(const config::RdmaPolicy& policy, const kernel::RdmaPort& port, const std::string& ifname,
                   const std::vector<base::IpAddress>& addresses, const base::Logger& log, const GidHolders& holders,
                   const std::string& sysfs) {
    if (!policy.wait_for_gids || addresses.empty()) return;
    const auto deadline = base::Deadline::in(policy.gid_timeout);
    for (auto pause = std::chrono::milliseconds{1};; pause = std::min(pause * 2, std::chrono::milliseconds{20})) {
        const auto missing = missing_gids(port, ifname, addresses, sysfs);
        if (missing.empty()) return;
        if (deadline.passed()) {
            const kernel::GidTable table = kernel::read_gid_table(port, sysfs);
            refuse_or_warn(
                policy,
                concat("no GID of ", missing.front(), " on ", port, " after ", policy.gid_timeout.count(), " ms (",
                       table.used, " of ", table.length, " entries used): ",
                       table.used == table.length
                           ? full_table_cure(policy, holders)
                           : std::string("raise \"rdma.gidTimeoutMs\", and look for the driver's messages in `dmesg`")),
                log);
            return;
        }
        std::this_thread::sleep_for(pause);
    }
}

} // namespace rdmanet::attach
