// A device that could not be brought home: its PF keeps whoever still has it from using it.
#pragma once

#include "context.hpp"

#include <rdmanet/state/attachment_record.hpp>
#include <rdmanet/state/attachment_store.hpp>

#include <string>

namespace rdmanet::attach {

/// Whether what `move` has moved, and could not be moved back, is provably still with the record's attachment, and the
/// attachment's owner wants it back. A record can be stale: its pod has gone, the kernel has returned the device, and
/// another plugin has given it to a pod that lives. Proven is what the owner says as long as the pod's namespace is
/// there: until that goes, the device is nobody else's to give. And the runtime's other namespaces must not have it.
[[nodiscard]] bool is_still_with_attachment(const state::Step& move, const RevertContext& context);

/// Switches the link of the record's VF off. What it was before is written into the record, and that is saved, before
/// anything changes. Returns what was done, or why it was not; empty for a device that no PF decides about. Throws
/// base::Error.
[[nodiscard]] std::string contain_device(state::AttachmentRecord& record, const state::AttachmentStore& records);

} // namespace rdmanet::attach
