// Who holds what on this node: the journal and the leases, for a person or a program.
#pragma once

#include <rdmanet/ipam/lease.hpp>
#include <rdmanet/state/attachment_store.hpp>

#include <string>
#include <vector>

namespace rdmanet::ops {

struct StateReport {
    state::AttachmentStore::Listing attachments;
    std::vector<ipam::Lease> leases;
    std::string lease_trouble; // why the leases could not be read; empty if they could
};

/// Reads the state directory; changes nothing, also if there is none.
[[nodiscard]] StateReport read_state(const std::string& state_directory);

/// Two tables, attachments and leases, with a line for what can't be read.
[[nodiscard]] std::string to_table(const StateReport& report);
/// {"attachments": [...], "leases": [...], "unreadable": [...]}
[[nodiscard]] std::string to_json(const StateReport& report);

} // namespace rdmanet::ops
