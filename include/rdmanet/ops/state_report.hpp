// Who holds what on this node: the journal, the leases, and what the kernel says of the RDMA devices, for a person or a
// program.
#pragma once

#include <rdmanet/attach/rdma_view.hpp>
#include <rdmanet/base/ip_address.hpp>
#include <rdmanet/ipam/lease.hpp>
#include <rdmanet/ipam/liveness.hpp>
#include <rdmanet/state/attachment_store.hpp>

#include <string>
#include <vector>

namespace rdmanet::ops {

struct StateReport {
    state::AttachmentStore::Listing attachments;
    std::vector<std::vector<attach::RdmaView>> rdma; // for each attachment, in their order
    std::vector<ipam::Verdict> pods;                 // likewise
    /// Likewise: addresses that another host has, too.
    std::vector<std::vector<base::IpPrefix>> duplicates;
    std::vector<ipam::Lease> leases;
    std::string missing_directory; // the state directory, if there is none
    std::string lease_trouble;     // why the leases could not be read; empty if they could
};

/// Reads the state directory and the kernel; changes nothing, also if there is none.
[[nodiscard]] StateReport read_state(const std::string& state_directory);

/// Tables of attachments, of their RDMA if there is any, and of leases, with a line for what can't be read.
[[nodiscard]] std::string to_table(const StateReport& report);
/// {"attachments": [...], "leases": [...], "unreadable": [...]}
[[nodiscard]] std::string to_json(const StateReport& report);

} // namespace rdmanet::ops
