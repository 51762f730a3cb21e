// What of an attachment is still to be undone: its record, which the steps leave as they are undone, so that what is
// owed names only itself.
#pragma once

#include <rdmanet/state/attachment_record.hpp>

#include <cstddef>

namespace rdmanet::attach {

/// All of it. It is no attachment that lives.
[[nodiscard]] state::AttachmentRecord all_owed(const state::AttachmentRecord& record);

/// Step `at` is undone. It stays if what is owed behind it would spoil that: then it is undone again.
void leave_owed(state::AttachmentRecord& owed, std::size_t at);

/// Drops what the remaining steps and leases don't need.
void forget_given_back(state::AttachmentRecord& owed, bool has_no_leases);

} // namespace rdmanet::attach
