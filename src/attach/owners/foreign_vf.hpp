// VFs without a pod that are set up as if they had one: an administrator's doing, or what another plugin left behind.
// Nobody but a person can tell, so nothing is changed.
#pragma once

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/state/attachment_store.hpp>

#include <string>
#include <vector>

namespace rdmanet::attach {

/// One sentence, with the cure, for each VF whose interface is on the host, that no record names, and that has a VLAN
/// or a link state of disable: what puts the next pod into a wrong network, or into none. Throws base::Error.
[[nodiscard]] std::vector<std::string> describe_foreign_vfs(const state::AttachmentStore& records,
                                                            const base::Deadline& deadline);

} // namespace rdmanet::attach
