// Finds out why pods have no traffic, although their attachments are as ADD left them.
#pragma once

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/kernel/netns.hpp>
#include <rdmanet/state/attachment_record.hpp>

#include <string>

namespace rdmanet::attach {

/// Says that the parent, the PF or the device is down or has no carrier, with the cure. Empty if traffic can flow. The
/// text is the same for all attachments that share a port. Throws base::Error if the kernel cannot be asked.
[[nodiscard]] std::string find_port_trouble(const state::AttachmentRecord& record, const kernel::Netns& pod,
                                            const base::Deadline& deadline);

} // namespace rdmanet::attach
