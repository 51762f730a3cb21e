// The leases in the journal's records.
#pragma once

#include <rdmanet/ipam/lease.hpp>
#include <rdmanet/state/attachment_store.hpp>

#include <string>
#include <vector>

namespace rdmanet::attach {

/// All of them, those of younger attachments first. They replace a lost lease store. `boot_id` is the present boot's.
[[nodiscard]] std::vector<ipam::Lease> list_recorded_leases(const state::AttachmentStore& records,
                                                            const std::string& boot_id);

} // namespace rdmanet::attach
