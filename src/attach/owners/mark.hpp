// IPoIB children carry a mark that names their attachment.
//
// The kernel does not destroy an IPoIB child with its namespace. It returns the child to the host, some time after the
// last user of the namespace has gone (default_device_exit_net(), net/core/dev.c). If its record is lost by then, or
// DEL did not wait that long, the child would stay on the host for ever.
//
// The mark is the link's alias, which moves with the link. It holds the attachment's key and the namespace. GC removes
// a child on the host if it has a mark, is down (the kernel leaves it down after the move) and its namespace is proven
// dead. An administrator's own children have no such alias, so a child without a mark is left alone.
#pragma once

#include <rdmanet/attach/node.hpp>
#include <rdmanet/base/deadline.hpp>
#include <rdmanet/kernel/link.hpp>
#include <rdmanet/state/attachment_record.hpp>

#include <optional>
#include <string>
#include <vector>

namespace rdmanet::attach {

/// nullopt if the mark is too long for an alias.
[[nodiscard]] std::optional<std::string> mark_of(const state::AttachmentRecord& record);

/// A record with what the mark holds: key, namespace, and whose /proc can prove it dead. nullopt if it is not a mark.
[[nodiscard]] std::optional<state::AttachmentRecord> parse_mark(const std::string& alias, const Node& node);

struct MarkedChild {
    kernel::Link link;
    state::AttachmentRecord record; // from the mark
};
/// Children on the host that have a mark and look as if the kernel returned them.
[[nodiscard]] std::vector<MarkedChild> list_returned_children(const Node& node, const base::Deadline& deadline);

} // namespace rdmanet::attach
