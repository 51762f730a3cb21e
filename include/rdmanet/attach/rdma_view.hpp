// The present state of attachments' RDMA devices in the kernel, which `rdmanet state` shows beside the journal.
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
    std::string device; // its present name, or the recorded one if the device is not found
    unsigned port = 0;  // counted from 1; 0 if unknown
    RdmaPlace place = RdmaPlace::unknown;
    bool infiniband = false;
    std::vector<std::string> files; // in /dev/infiniband: "uverbs0", "umad0", "issm0", "rdma_cm"
    /// The GIDs of the attachment's addresses. All GIDs of the port for InfiniBand, and for a device in the pod of an
    /// attachment without addresses.
    std::vector<kernel::GidEntry> gids;
    std::string trouble; // why this holds only what the record says; empty if it is complete
};

/// For each record, in order: the ports that it has. None for a record without RDMA. Changes nothing.
[[nodiscard]] std::vector<std::vector<RdmaView>> view_rdma(const std::vector<state::AttachmentRecord>& records);

} // namespace rdmanet::attach
