// What of an attachment is not yet undone. Undone steps leave the record, so that it names only what it still holds.
#pragma once

#include <rdmanet/state/attachment_record.hpp>

#include <cstddef>

namespace rdmanet::attach {

/// The record with all steps, in phase `prepared`: it no longer describes an attachment that lives.
[[nodiscard]] state::AttachmentRecord all_remaining(const state::AttachmentRecord& record);

/// Drops step `at`, which was undone. It stays if undoing a later step would change its result: then it is undone
/// again.
void drop_undone_step(state::AttachmentRecord& remaining, std::size_t at);

/// Drops the data that the remaining steps and leases do not need.
void drop_released(state::AttachmentRecord& remaining, bool has_no_leases);

} // namespace rdmanet::attach
