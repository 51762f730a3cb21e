// IPoIB children bear a mark, because the kernel doesn't destroy them with their namespace: it gives them back to the
// host (default_device_exit_net(), net/core/dev.c), some time after the last user has gone. A child whose record is
// lost by then, or whose DEL did not wait that long, would stay there for ever.
//
// The mark is the link's alias, which moves along: whose the child is, and the namespace that it was made in. One that
// is found on the host, down as the kernel leaves what it moves, and whose namespace is provably dead, is ours and
// nobody's. An administrator's own children have no such alias. A child without it is left alone: nothing tells it from
// theirs. The same holds for VFs whose settings no record explains: a VLAN or MAC that a lost record would have put
// back looks like one that the administrator gave the VF.
#pragma once

#include <rdmanet/attach/node.hpp>
#include <rdmanet/base/deadline.hpp>
#include <rdmanet/kernel/link.hpp>
#include <rdmanet/state/attachment_record.hpp>

#include <optional>
#include <string>
#include <vector>

namespace rdmanet::attach {

/// nullopt if it is too long for an alias.
[[nodiscard]] std::optional<std::string> mark_of(const state::AttachmentRecord& record);

/// What of a record the mark holds: key, namespace, and whose /proc can prove it dead. nullopt if it is none.
[[nodiscard]] std::optional<state::AttachmentRecord> parse_mark(const std::string& alias, const Node& node);

struct MarkedChild {
    kernel::Link link;
    state::AttachmentRecord record; // of the mark
};
/// Children on the host that bear a mark and were given back, as far as looking at them tells.
[[nodiscard]] std::vector<MarkedChild> list_returned_children(const Node& node, const base::Deadline& deadline);

} // namespace rdmanet::attach
