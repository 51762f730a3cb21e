#include "shared_rdma.hpp"

#include <rdmanet/attach/misfit.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/base/wait.hpp>
#include <rdmanet/cni/error.hpp>

#include <algorithm>

namespace rdmanet::attach {
namespace {

using base::quoted;

/// If RDMA is required, this ends the ADD. If it is used only where present, the pod gets none.
std::optional<kernel::RdmaPort> without_rdma(const config::RdmaPolicy& policy, const std::string& why,
                                             const base::Logger& log) {
    if (policy.demand == config::RdmaDemand::required) refuse_rdma(why);
    log.debug(why);
    return std::nullopt;
}

void refuse_or_warn(const config::RdmaPolicy& policy, const std::string& what, const base::Logger& log) {
    if (policy.on_missing_gid == config::OnMissingGid::refuse) refuse_rdma(what);
    log.warn(what);
}

/// Finding the holders means entering each pod, so it is done only for an error. If it fails, the error is reported
/// without them.
std::string find_holders(const config::RdmaPolicy& policy, const GidHolders& holders) try {
    return holders && policy.on_missing_gid == config::OnMissingGid::refuse ? holders() : std::string();
} catch (const base::Error&) {
    return {};
}

std::string full_table_fix(const config::RdmaPolicy& policy, const GidHolders& holders) {
    const std::string who = find_holders(policy, holders);
    return fmt::format(
        "{}remove pods or addresses, spread the pods over more parents, or limit what one pod takes with "
        "\"rdma.maxGids\"",
        who.empty() ? std::string() : fmt::format("most belong to {}; ", who));
}

/// How many GIDs an address gets. An empty table does not show that; NICs have two types, RoCE v1 and v2.
std::size_t gids_of_an_address(std::size_t types) {
    return types == 0 ? kernel::kMostGidTypes : types;
}

} // namespace

void refuse_rdma(const std::string& why) {
    throw cni::CniError(cni::ErrorCode::rdma, why);
}

std::optional<kernel::RdmaPort> find_rdma(const config::RdmaPolicy& policy, const kernel::Link& parent,
                                          const std::string& network, const base::Logger& log,
                                          const base::Deadline& deadline) {
    if (policy.demand == config::RdmaDemand::ignored) return std::nullopt;
    auto socket = kernel::Socket::find_rdma(deadline);
    if (!socket)
        return without_rdma(
            policy,
            fmt::format("no RDMA driver is loaded, but network {} asks for RDMA (\"rdma\"): load the driver "
                        "of the NIC, for example with `modprobe mlx5_ib`",
                        quoted(network)),
            log);
    auto port = kernel::find_rdma_port(*socket, parent);
    if (!port)
        return without_rdma(
            policy,
            fmt::format("parent {} has no RDMA device, but network {} asks for RDMA (\"rdma\"): choose a "
                        "parent that `rdma link` shows, or remove \"rdma\"; `rdmanet doctor` says more (rdma-driver)",
                        quoted(parent.name), quoted(network)),
            log);
    if (const auto misfit = find_child_misfit(policy, kernel::rdma_netns_mode(*socket), network))
        return without_rdma(policy, misfit->message(), log);
    return port;
}

void require_rdma_of_ipoib(const config::RdmaPolicy& policy, const kernel::Link& parent, const std::string& network,
                           const base::Deadline& deadline) {
    if (policy.demand != config::RdmaDemand::required) return;
    auto socket = kernel::Socket::find_rdma(deadline);
    if (!socket)
        refuse_rdma(fmt::format("parent {} has no RDMA device: load the RDMA driver of its NIC", quoted(parent.name)));
    if (const auto misfit = find_child_misfit(policy, kernel::rdma_netns_mode(*socket), network))
        refuse_rdma(misfit->message());
}

void require_gid_room(const config::RdmaPolicy& policy, const kernel::RdmaPort& port, const std::string& parent,
                      std::size_t addresses, const GidHolders& holders, const base::Logger& log) {
    if (!policy.wait_for_gids) return;
    if (kernel::has_free_gids(port, addresses * kernel::kMostGidTypes)) return;
    const kernel::GidTable table = kernel::read_gid_table(port);
    const std::size_t needed = addresses * gids_of_an_address(table.types);
    if (table.length - table.used >= needed) return;
    refuse_or_warn(policy,
                   fmt::format("GID table of {}, parent {}, is full: {} of {} entries used, {} more needed; {}", port,
                               quoted(parent), table.used, table.length, needed, full_table_fix(policy, holders)),
                   log);
}

void require_gid_share(const config::RdmaPolicy& policy, const kernel::RdmaPort& port, std::size_t addresses) {
    if (!policy.most_gids) return;
    const std::size_t types = gids_of_an_address(kernel::read_gid_table(port).types);
    const std::size_t needed = (addresses + (policy.link_local_gids ? 1 : 0)) * types;
    if (needed <= *policy.most_gids) return;
    throw cni::CniError(
        cni::ErrorCode::invalid_network_config,
        policy.link_local_gids
            ? fmt::format("rdma.maxGids: {} entries in the GID table of {} are too few, the pod's addresses with the "
                          "link-local one need {}: raise it, give the pod fewer addresses, or set "
                          "\"rdma.linkLocalGids\" to false",
                          *policy.most_gids, port, needed)
            : fmt::format(
                  "rdma.maxGids: {} entries in the GID table of {} are too few, the pod's addresses need {}: raise "
                  "it, or give the pod fewer addresses",
                  *policy.most_gids, port, needed));
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
    std::vector<base::IpAddress> missing;
    base::wait_for(base::Deadline::in(policy.gid_timeout), [&] {
        missing = missing_gids(port, ifname, addresses, sysfs);
        return missing.empty();
    });
    if (missing.empty()) return;
    const kernel::GidTable table = kernel::read_gid_table(port, sysfs);
    refuse_or_warn(policy,
                   fmt::format("no GID of {} on {} after {} ms ({} of {} entries used): {}", missing.front(), port,
                               policy.gid_timeout.count(), table.used, table.length,
                               table.used == table.length
                                   ? full_table_fix(policy, holders)
                                   : std::string("raise \"rdma.gidTimeoutMs\", and look for the driver's messages in "
                                                 "`dmesg`; `rdmanet doctor` says more (gid-table)")),
                   log);
}

} // namespace rdmanet::attach
