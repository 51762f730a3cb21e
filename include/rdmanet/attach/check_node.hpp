// `rdmanet check`: compares all attachments of the node with the kernel. A person or a timer runs it, because Multus
// sends no CHECK for secondary networks.
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
    differs,     // or the record cannot be read
    not_checked, // the pod is dead or cannot be entered, or an ADD or DEL is running
};
/// "same", "differs", "not checked"
[[nodiscard]] std::string_view to_string(Agreement agreement);

struct CheckedAttachment {
    std::string name; // the attachment, its pod and its addresses; the path of a record that cannot be read
    Agreement agreement = Agreement::same;
    std::string reason;  // the first difference, or why it was not checked; empty if all is the same
    std::string warning; // why the pod has no traffic, which is no difference; empty if nothing is known
};

/// Checks each record under its own lock. An error concerns only that record. If libcni has cached the runtime's
/// result, MAC, addresses and routes are compared with it, as CHECK does. Other IPAM plugins are not executed.
/// Changes nothing.
[[nodiscard]] std::vector<CheckedAttachment> check_node(const Node& node);

} // namespace rdmanet::attach
