// What DEL does with a VF that it could not take back.
#pragma once

#include "undo.hpp"

#include <rdmanet/base/bus_address.hpp>
#include <rdmanet/kernel/vf.hpp>

#include <array>
#include <string>
#include <string_view>

namespace rdmanet::attach {

/// Whether the device that `move` moved, and that could not be moved back, is proven to be still with its attachment.
/// A stale record proves nothing: the kernel may have returned the device, and another plugin given it to a living
/// pod. It is proven if the attachment's own DEL or ADD calls, the pod's namespace still exists, and none of the
/// runtime's other namespaces has the device.
[[nodiscard]] bool is_still_with_attachment(const state::Step& move, const Undo& undo);

/// Switches off the link of the record's VF. First saves the record with the link state from before. Returns what was
/// done, or why it was not done. Empty if the device is not a VF. Throws base::Error.
[[nodiscard]] std::string disconnect_device(state::AttachmentRecord& record, const state::AttachmentStore& records);

} // namespace rdmanet::attach
