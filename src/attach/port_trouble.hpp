// What keeps the pods of a port without traffic although their attachments are as ADD left them.
#pragma once

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/kernel/netns.hpp>
#include <rdmanet/state/attachment_record.hpp>

#include <string>

namespace rdmanet::attach {

/// That the parent, the PF or the device itself is down or has no carrier, with the cure; empty if traffic can flow.
/// Attachments that share a port share the text. Throws base::Error if the kernel can't be asked.
[[nodiscard]] std::string find_port_trouble(const state::AttachmentRecord& record, const kernel::Netns& pod,
                                            const base::Deadline& deadline);

} // namespace rdmanet::attach
