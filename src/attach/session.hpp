// What the operations on one attachment share.
#pragma once

#include "leases.hpp"
#include "rdma_names.hpp"

#include <rdmanet/attach/node.hpp>
#include <rdmanet/cni/request.hpp>
#include <rdmanet/config/config.hpp>
#include <rdmanet/ipam/allocator.hpp>
#include <rdmanet/kernel/netns.hpp>
#include <rdmanet/state/attachment_store.hpp>

#include <string>
#include <vector>

namespace rdmanet::attach {

[[nodiscard]] state::AttachmentKey key_of(const cni::Request& request);

/// Throws CniError if the journal can't have a file of that name. Only for ADD: what was never stored has no DEL that
/// could fail for it.
void require_storable(const state::AttachmentKey& key);

/// The journal, the leases and the name of the attachment that a request is about.
struct Session {
    explicit Session(const cni::Request& request, const Node& its_node, state::Access access = state::Access::change)
        : node(its_node), key(key_of(request)), records(its_node.state_directory, access),
          leases(open_leases(node, records)) {}
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    const Node& node;
    state::AttachmentKey key;
    state::AttachmentStore records;
    ipam::SqliteStore leases;
    /// Whom a dry run takes for gone: ADD takes back what they have left, and a dry run can't.
    std::vector<state::AttachmentKey> disregarded{};
};

[[nodiscard]] inline NameKeeper name_keeper(const Session& session) {
    return {.records = session.records, .boot_id = session.node.boot_id, .log = session.node.log};
}

[[nodiscard]] state::NetnsIdentity identify(const std::string& path, const kernel::Netns& netns);

/// A record of the attachment in phase `prepared`, without steps.
[[nodiscard]] state::AttachmentRecord begin_record(const cni::Request& request, const Node& node,
                                                   const kernel::Netns& netns);

/// What undoes an ADD of IPAM plugin `plugin`: DEL with the ADD's own configuration.
[[nodiscard]] state::DelegateIpam delegate_step(const cni::Request& request, const std::string& plugin);

/// The pod's namespace as CNI_NETNS names it. Throws CniError: nothing there, no namespace, or our own (code 8).
[[nodiscard]] kernel::Netns open_pod_netns(const cni::Request& request);

/// Addresses that the pod asked for, from wherever the conventions let it.
[[nodiscard]] std::vector<ipam::RequestedAddress> requested_addresses(const cni::Request& request);

/// What the pod asked for, else the configuration's.
[[nodiscard]] std::optional<base::MacAddress> wanted_mac(const cni::Request& request, const config::Config& config);

/// The DNS settings of the configuration, else those of the IPAM.
[[nodiscard]] cni::Dns chosen_dns(const cni::Dns& configured, const cni::Dns& from_ipam);

/// The allocator's answer in the terms of a CNI result, without interface indexes.
[[nodiscard]] cni::Result to_result(const ipam::Allocation& allocation);

} // namespace rdmanet::attach
