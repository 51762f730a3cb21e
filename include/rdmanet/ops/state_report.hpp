// What exists on this node, for a person or a program: records, leases, and the kernel's view of the RDMA devices.
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
    std::vector<std::vector<attach::RdmaView>> rdma; // for each attachment, in the order of the records
    std::vector<ipam::Verdict> pods;                 // for each attachment, too
    /// For each attachment: its addresses that another host also has.
    std::vector<std::vector<base::IpPrefix>> duplicates;
    std::vector<ipam::Lease> leases;
    std::string missing_directory; // the state directory, if it does not exist
    std::string lease_trouble;     // why the leases could not be read; empty if they could
};

/// Reads the state directory and the kernel. Changes nothing, and does not create the directory.
[[nodiscard]] StateReport read_state(const std::string& state_directory);

/// Tables of attachments, of their RDMA devices if there are any, and of leases, and a line for each part that cannot
/// be read.
[[nodiscard]] std::string to_table(const StateReport& report);
/// {"attachments": [...], "leases": [...], "unreadable": [...]}
[[nodiscard]] std::string to_json(const StateReport& report);

} // namespace rdmanet::ops
