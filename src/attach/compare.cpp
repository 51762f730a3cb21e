// Compares an attachment in the kernel with what ADD created.
//
// Later plugins of the chain, Multus and the pod may change some things, which are therefore no difference:
// - the MTU and sysctls, because prevResult does not report them, and promiscuous mode unless the network sets it
// - routes that were moved to another table
// - added addresses
// - a default route that was removed
#include "compare.hpp"

#include "lookup/request.hpp"
#include "owners/liveness.hpp"
#include "steps/registry.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/cni/error.hpp>
#include <rdmanet/ipam/allocator.hpp>
#include <rdmanet/kernel/address.hpp>

#include <algorithm>
#include <utility>

namespace rdmanet::attach {
namespace {

using base::quoted;
using kernel::Link;

/// Our part of prevResult: our interface in the pod, and the addresses that ADD gave it. A later plugin may have
/// added and removed addresses.
Expected expected_from(const cni::Result& result, const state::AttachmentRecord& record) {
    const auto is_ours = [&](const cni::IpConfig& ip) {
        return std::find(record.ips.begin(), record.ips.end(), ip.address.to_string()) != record.ips.end();
    };
    for (std::size_t at = 0; at < result.interfaces.size(); ++at) {
        const cni::Interface& interface = result.interfaces[at];
        if (interface.name != record.key.ifname || interface.sandbox.empty()) continue;
        Expected expected{.interface = interface, .ips = {}};
        for (const cni::IpConfig& ip : result.ips)
            if (ip.interface == at && is_ours(ip)) expected.ips.push_back(ip.address);
        return expected;
    }
    differs(fmt::format("prevResult has no interface {} in the pod", quoted(record.key.ifname)), kPassResult);
}

} // namespace

Intended wanted_by(const cni::Request& request, const config::Config& config) {
    Intended wanted{.config = &config,
                    .kind = std::string(config.kind()),
                    .device = config.device,
                    .mtu = config.mtu,
                    .rdma = config.rdma,
                    .result = request.conf.prev_result.value_or(cni::Result{})};
    if (std::holds_alternative<config::Sriov>(config.attach)) wanted.vf = wanted_settings(request, config);
    return wanted;
}

Intended wanted_by(const state::AttachmentRecord& record) {
    const state::Wanted written = record.wanted.value_or(state::Wanted{});
    Intended wanted{.kind = record.attach, .vf = written.vf};
    wanted.rdma.wait_for_gids = written.gids;
    wanted.rdma.on_missing_gid = written.gids ? config::OnMissingGid::refuse : config::OnMissingGid::warn;
    wanted.rdma.on_inactive_port = written.active_port ? config::OnInactivePort::refuse : config::OnInactivePort::warn;
    if (written.most_gids != 0) wanted.rdma.most_gids = written.most_gids;
    wanted.result.interfaces.push_back(
        {.name = record.key.ifname, .mac = written.mac, .mtu = {}, .sandbox = record.netns.path});
    for (const base::IpPrefix& ip : record.prefixes())
        wanted.result.ips.push_back({.address = ip, .gateway = {}, .interface = 0});
    for (const std::string& route : record.routes)
        if (const auto prefix = base::IpPrefix::parse(route); prefix && !prefix->is_default_route())
            wanted.result.routes.push_back({.destination = *prefix});
    return wanted;
}

void compare_with_kernel(const Call& call, const Intended& wanted, const state::AttachmentRecord& record,
                         const kernel::Netns& netns, const std::string& netns_path) try {
    const bool is_rdma_only = wanted.kind == "rdma";
    const Expected expected = is_rdma_only ? Expected{} : expected_from(wanted.result, record);
    kernel::Socket inside = kernel::Socket::open_in(netns, kernel::Protocol::route, call.deadline);
    Comparison compared{call, wanted, record, netns, netns_path, inside, expected};
    const auto name = base::InterfaceName::parse(record.key.ifname);
    if (has_netdev(record) && name) compared.link = kernel::find_link(inside, *name);
    if (compared.link) compared.addresses = kernel::list_addresses(inside, compared.link->ifindex);
    check_steps(compared);
} catch (const cni::CniError& error) {
    // Code 107 for every failure: reading the node may throw codes of ADD, for example if the PF is gone.
    throw cni::CniError(cni::ErrorCode::check_failed, error.what());
}

/// The addresses that the store should have: the record's leases, where others are in no store.
std::vector<base::IpPrefix> leased_addresses(const state::AttachmentRecord& record) {
    std::vector<base::IpPrefix> addresses = record.prefixes();
    const auto store = record.lease_store;
    if (!store || !leases::is_in_pools(*store)) return addresses;
    std::erase_if(addresses, [&](const base::IpPrefix& address) {
        return std::none_of(record.leases.begin(), record.leases.end(),
                            [&](const state::RecordedLease& lease) { return lease.address == address.to_string(); });
    });
    return addresses;
}

void compare_leases(const Call& call, const state::AttachmentRecord& record) {
    PodProbe pods(call.node);
    std::vector<std::string> faults;
    call.leases.with_store(record.lease_store, [&](ipam::Store& store) {
        faults =
            ipam::Allocator(store, pods).check(leases::owner_key(record.key), leased_addresses(record), call.deadline);
    });
    if (!faults.empty()) differs(faults.front(), kDeletePod);
}

} // namespace rdmanet::attach
