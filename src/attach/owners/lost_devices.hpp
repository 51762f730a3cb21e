// Devices that no pod has and that are not as they should be. rdmanet reports them and changes nothing.
#pragma once

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/state/attachment_store.hpp>

#include <string>
#include <vector>

namespace rdmanet::attach {

/// One sentence with the fix for each VF that is on the host, is in no record, and has a VLAN or link state
/// `disable`. Such a VF would put the next pod into the wrong network, or into none. An administrator may have set
/// that, or another plugin left it: only a person can know which. Throws base::Error.
[[nodiscard]] std::vector<std::string> describe_orphan_vfs(const state::AttachmentStore& records,
                                                           const base::Deadline& deadline);

/// One sentence with the fix for each device in a namespace without processes and mounts, which still exists while a
/// process has it open, for example a runtime that leaked a descriptor. GC does not take them back, because that
/// process may still use the namespace. If no process has it open, this waits a moment before it reports the device:
/// the kernel returns the devices of a pod a little after the pod. A process that does not see all other processes
/// reports nothing. Throws base::SystemError.
[[nodiscard]] std::vector<std::string> describe_unreachable_devices(const base::Deadline& deadline);

} // namespace rdmanet::attach
