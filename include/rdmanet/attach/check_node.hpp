// All attachments of the node compared with the kernel, for a person or a timer: nobody sends CHECK for secondary
// networks.
#pragma once

#include <rdmanet/attach/node.hpp>
#include <rdmanet/state/attachment_record.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rdmanet::attach {

enum class Agreement : std::uint8_t {
    same,        // as ADD left it
    partly,      // as far as the record tells: it is of an earlier version
    differs,     // or the record can't be read
    not_checked, // the pod is gone or can't be looked at, or an ADD or DEL is under way
};
/// "same", "partly checked", "differs", "not checked"
[[nodiscard]] std::string_view to_string(Agreement agreement);

struct CheckedAttachment {
    std::string name; // the attachment, its pod and its addresses; of an unreadable record its path
    Agreement agreement = Agreement::same;
    std::string reason; // the first difference, or why it was not checked; empty: the same
};

/// Each record by itself, under its lock: what one of them throws is its own. Where libcni has kept the runtime's
/// result, MAC, addresses and routes are compared with that, as CHECK would. Other IPAM plugins are not asked. Changes
/// nothing.
[[nodiscard]] std::vector<CheckedAttachment> check_node(const Node& node);

} // namespace rdmanet::attach
