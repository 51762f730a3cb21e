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
std::optional<kernel::RdmaPort> without_rdma(const std::string& why, const Call& call) {
    if (call.config->rdma.demand == config::RdmaDemand::required) refuse_rdma(why);
    call.log.debug(why);
    return std::nullopt;
}

void refuse_or_warn(const std::string& what, const Call& call) {
    if (call.config->rdma.on_missing_gid == config::OnMissingGid::refuse) refuse_rdma(what);
    call.log.warn(what);
}

/// Finding the holders means entering each pod, so it is done only for an error. If it fails, the error is reported
/// without them.
std::string find_holders(const GidHolders& holders, const Call& call) try {
    return holders && call.config->rdma.on_missing_gid == config::OnMissingGid::refuse ? holders() : std::string();
} catch (const base::Error&) {
    return {};
}

std::string full_table_fix(const GidHolders& holders, const Call& call) {
    const std::string who = find_holders(holders, call);
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

std::optional<kernel::RdmaPort> find_rdma(const kernel::Link& parent, const Call& call) {
    const config::RdmaPolicy& policy = call.config->rdma;
    const std::string& network = call.request->conf.name;
    if (policy.demand == config::RdmaDemand::ignored) return std::nullopt;
    auto socket = kernel::Socket::find_rdma(call.deadline);
    if (!socket)
        return without_rdma(
            fmt::format("no RDMA driver is loaded, but network {} asks for RDMA (\"rdma\"): load the driver "
                        "of the NIC, for example with `modprobe mlx5_ib`",
                        quoted(network)),
            call);
    auto port = kernel::find_rdma_port(*socket, parent);
    if (!port)
        return without_rdma(
            fmt::format("parent {} has no RDMA device, but network {} asks for RDMA (\"rdma\"): choose a "
                        "parent that `rdma link` shows, or remove \"rdma\"; `rdmanet doctor` says more (rdma-driver)",
                        quoted(parent.name), quoted(network)),
            call);
    if (const auto misfit = find_child_misfit(policy, kernel::rdma_netns_mode(*socket), network))
        return without_rdma(misfit->message(), call);
    return port;
}

void require_rdma_of_ipoib(const kernel::Link& parent, const Call& call) {
    const config::RdmaPolicy& policy = call.config->rdma;
    if (policy.demand != config::RdmaDemand::required) return;
    auto socket = kernel::Socket::find_rdma(call.deadline);
    if (!socket)
        refuse_rdma(fmt::format("parent {} has no RDMA device: load the RDMA driver of its NIC", quoted(parent.name)));
    if (const auto misfit = find_child_misfit(policy, kernel::rdma_netns_mode(*socket), call.request->conf.name))
        refuse_rdma(misfit->message());
}

void require_gid_room(const kernel::RdmaPort& port, const std::string& parent, std::size_t addresses,
                      const GidHolders& holders, const Call& call) {
    if (!call.config->rdma.wait_for_gids) return;
    if (kernel::has_free_gids(port, addresses * kernel::kMostGidTypes)) return;
    const kernel::GidTable table = kernel::read_gid_table(port);
    const std::size_t needed = addresses * gids_of_an_address(table.types);
    if (table.length - table.used >= needed) return;
    refuse_or_warn(fmt::format("GID table of {}, parent {}, is full: {} of {} entries used, {} more needed; {}", port,
                               quoted(parent), table.used, table.length, needed, full_table_fix(holders, call)),
                   call);
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

std::vector<base::IpAddress> missing_gids(const InterfaceGids& gids, const std::vector<base::IpAddress>& addresses) {
    std::vector<base::IpAddress> missing;
    const kernel::FoundGids present = kernel::find_gids(gids.port, addresses, gids.ifname, gids.sysfs);
    for (const base::IpAddress& address : addresses) {
        const auto found = std::count_if(present.entries.begin(), present.entries.end(),
                                         [&](const kernel::GidEntry& entry) { return entry.address == address; });
        if (static_cast<std::size_t>(found) < gids_of_an_address(present.types)) missing.push_back(address);
    }
    return missing;
}

void wait_for_gids(const InterfaceGids& gids, const std::vector<base::IpAddress>& addresses, const GidHolders& holders,
                   const Call& call) {
    const config::RdmaPolicy& policy = call.config->rdma;
    if (!policy.wait_for_gids || addresses.empty()) return;
    std::vector<base::IpAddress> missing;
    base::wait_for(base::Deadline::in(policy.gid_timeout), [&] {
        missing = missing_gids(gids, addresses);
        return missing.empty();
    });
    if (missing.empty()) return;
    const kernel::GidTable table = kernel::read_gid_table(gids.port, gids.sysfs);
    refuse_or_warn(fmt::format("no GID of {} on {} after {} ms ({} of {} entries used): {}", missing.front(), gids.port,
                               policy.gid_timeout.count(), table.used, table.length,
                               table.used == table.length
                                   ? full_table_fix(holders, call)
                                   : std::string("raise \"rdma.gidTimeoutMs\", and look for the driver's messages in "
                                                 "`dmesg`; `rdmanet doctor` says more (gid-table)")),
                   call);
}

} // namespace rdmanet::attach
