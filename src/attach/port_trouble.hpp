// Finds out why pods have no traffic, although their attachments are as ADD left them.
#pragma once

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/state/attachment_record.hpp>

#include <map>
#include <string>

namespace rdmanet::attach {

class PortTrouble {
public:
    /// Says that the parent, the PF or the device is down or has no carrier, with the fix. Empty if traffic can flow.
    /// The text is the same for all attachments that share a port. The kernel is asked once about each parent on the
    /// host. Throws base::Error if it cannot be asked.
    [[nodiscard]] std::string find(const state::AttachmentRecord& record, const base::Deadline& deadline);

private:
    std::string find_of_parent(const state::AttachmentRecord& record, const state::Child& child,
                               const base::Deadline& deadline);

    std::map<unsigned, std::string> of_parents_; // by index on the host
};

} // namespace rdmanet::attach
