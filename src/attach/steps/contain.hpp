// A device that could not be brought home: its PF keeps whoever still has it from using it.
#pragma once

#include <rdmanet/state/attachment_record.hpp>
#include <rdmanet/state/attachment_store.hpp>

#include <string>

namespace rdmanet::attach {

/// Switches the link of the record's VF off. What it was before is written into the record, and that is saved, before
/// anything changes. Returns what was done, or why it was not; empty for a device that no PF decides about. Throws
/// base::Error.
[[nodiscard]] std::string contain_device(state::AttachmentRecord& record, const state::AttachmentStore& records);

} // namespace rdmanet::attach
