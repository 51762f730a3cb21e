// Finds VFs that have a pod's settings but no pod. An administrator may have set them, or another plugin left them.
// Only a person can know which, so rdmanet reports them and changes nothing.
#pragma once

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/state/attachment_store.hpp>

#include <string>
#include <vector>

namespace rdmanet::attach {

/// One sentence with the fix for each VF that is on the host, is in no record, and has a VLAN or link state
/// `disable`. Such a VF would put the next pod into the wrong network, or into none. Throws base::Error.
[[nodiscard]] std::vector<std::string> describe_orphan_vfs(const state::AttachmentStore& records,
                                                           const base::Deadline& deadline);

} // namespace rdmanet::attach
