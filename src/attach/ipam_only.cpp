// rdmanet as the IPAM plugin ("ipam.type") of another plugin: it leases addresses and changes nothing in the kernel.
#include "detach.hpp"
#include "recall.hpp"
#include "reclaim.hpp"
#include "result.hpp"

#include "lookup/pod_side.hpp"
#include "lookup/request.hpp"
#include "owners/liveness.hpp"
#include "steps/comparison.hpp"

#include <rdmanet/attach/operations.hpp>
#include <rdmanet/base/format.hpp>
#include <rdmanet/base/rollback.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/cni/error.hpp>
#include <rdmanet/ipam/allocator.hpp>
#include <rdmanet/kernel/netns.hpp>
#include <rdmanet/state/state_directory.hpp>

#include <algorithm>
#include <optional>
#include <variant>

namespace rdmanet::attach::ipam_only {
namespace {

using base::quoted;

constexpr const char* kAttachIpam =
    "ipam"; // `rdmanet state` shows it: only addresses, the interface is another plugin's

/// A binary that was installed under another name would be taken for an IPAM plugin, and its pods would get no
/// interface.
void require_addresses_only(const cni::Request& request) {
    if (request.conf.document.root().find("attach"))
        throw cni::CniError(cni::ErrorCode::invalid_network_config,
                            fmt::format("attach: expected no such key, because \"type\" is {} and rdmanet only leases "
                                        "addresses for other types: set \"type\" to \"rdmanet\", or remove \"attach\"",
                                        quoted(request.conf.type)));
}

ipam::Config configuration(const cni::Request& request, const Node& node) {
    std::vector<std::string> warnings;
    const config::IpamChoice ipam = config::parse_ipam(request.conf, warnings);
    auto config = std::get<ipam::Config>(ipam);
    config::require_useful_keys(config.useless_keys, false, node.strict);
    for (const std::string& warning : warnings) node.log.warn(warning);
    config::require_sound(ipam);
    return config;
}

} // namespace

cni::Result add(const cni::Request& request, const Node& node) {
    require_addresses_only(request);
    const ipam::Config config = configuration(request, node);
    state::require_directory(node.state_directory);
    const Call call(node, base::Deadline::in(kAddTimeout), request);
    call.leases.allow(config.store.limits.add);
    require_storable(call.key, request.names);
    state::AttachmentRecord record = begin_record(call, identify(request.netns_path, open_pod_netns(request)));
    record.attach = kAttachIpam;
    std::optional<base::FileLock> lock = call.records.lock_for_add(call.key, call.deadline);
    // A repeated ADD gets the leases of the first one. If it fails, they must stay. The same is true if rdmanet made
    // the interface itself before the configuration was edited.
    const auto is_absent = [&](const state::AttachmentKey& key) {
        return std::holds_alternative<state::NoRecord>(call.records.load(key));
    };
    if (const auto outcome = call.records.load(call.key);
        const auto* earlier = std::get_if<state::AttachmentRecord>(&outcome))
        record.lease_store = earlier->lease_store;
    const bool is_first = is_absent(call.key) && is_absent(call.key.with_role(""));
    ipam::Allocation allocation;
    base::Rollback rollback(
        [&](const std::string& what, const char* why) { node.log.error(fmt::format("{}: {}", what, why)); });
    if (is_first) rollback.on_failure("undo the failed ADD", [&] { undo_failed_add(record, allocation.fresh, call); });
    PodProbe pods(node);
    allocation = call.leases.take(
        config, requested_addresses(request), record, pods, [&] { call.records.save(record); }, call.deadline);
    for (const ipam::AllocatedAddress& ip : allocation.ips) record.ips.push_back(ip.address.to_string());
    if (is_first) call.records.save(record);
    call.leases.note_addresses(record, pods, call.deadline);
    commit(record, *lock, call);
    rollback.commit();
    lock.reset();
    undo_reclaimed(allocation.reclaimed_from, call);
    if (record.lease_store) pay_owed_addresses_soon(call);
    return to_result(allocation);
}

void check(const cni::Request& request, const Node& node) {
    const Call call(node, base::Deadline::in(kCheckTimeout), request);
    const auto outcome = call.records.load(call.key);
    const auto* record = std::get_if<state::AttachmentRecord>(&outcome);
    const auto where = record == nullptr ? std::nullopt : record->lease_store;
    std::vector<ipam::Lease> leases;
    call.leases.with_store(
        where, [&](ipam::Store& store) { leases = store.find(leases::owner_key(call.key), call.deadline); });
    const bool has_static_only = record != nullptr && record->leases.empty() && where && leases::is_in_pools(*where);
    if (leases.empty() && !has_static_only)
        differs(fmt::format("no address is leased to {}, expected the one of ADD", call.key), kDeletePod);
    if (!request.conf.prev_result) return;
    const std::vector<cni::IpConfig>& ips = request.conf.prev_result->ips;
    for (const ipam::Lease& lease : leases)
        if (std::none_of(ips.begin(), ips.end(), [&](const cni::IpConfig& ip) { return ip.address == lease.address; }))
            differs(fmt::format("address {} is leased to the attachment ({}), but prevResult does not have it",
                                lease.address, call.key),
                    kPassResult);
}

} // namespace rdmanet::attach::ipam_only
