// What the journal knows of leases.
#pragma once

#include <rdmanet/ipam/lease.hpp>
#include <rdmanet/state/attachment_store.hpp>

#include <string>
#include <vector>

namespace rdmanet::attach {

/// For a lease store that is lost, the younger attachments' first. Reads the journal. `boot_id`: the present boot's.
[[nodiscard]] std::vector<ipam::Lease> list_recorded_leases(const state::AttachmentStore& records,
                                                            const std::string& boot_id);

} // namespace rdmanet::attach
