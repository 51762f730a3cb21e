// What the kernel shows at present of the RDMA that attachments have: for people, beside what the journal says.
#pragma once

#include <rdmanet/kernel/gid.hpp>
#include <rdmanet/state/attachment_record.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace rdmanet::attach {

/// Whose network namespace an RDMA device is in.
enum class RdmaPlace : std::uint8_t { unknown, host, pod };

/// A port of an RDMA device that an attachment has.
struct RdmaView {
    std::string device; // its name now; the record's if it isn't found
    unsigned port = 0;  // from 1; 0: not known
    RdmaPlace place = RdmaPlace::unknown;
    bool infiniband = false;
    std::vector<std::string> files; // in /dev/infiniband: "uverbs0", "umad0", "issm0", "rdma_cm"
    /// Of the attachment's addresses. Of InfiniBand, and of a device in the pod of an attachment without addresses, all
    /// that the port has.
    std::vector<kernel::GidEntry> gids;
    std::string trouble; // why this is no more than the record tells; empty: it is all
};

/// For each record, in their order, the ports that it has; none for one without RDMA. What can't be read is said in the
/// view. Changes nothing.
[[nodiscard]] std::vector<std::vector<RdmaView>> view_rdma(const std::vector<state::AttachmentRecord>& records);

} // namespace rdmanet::attach
