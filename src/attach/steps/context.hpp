// What undoing a step needs beyond the step.
#pragma once

#include "rdma_names.hpp"

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/logger.hpp>
#include <rdmanet/state/attachment_record.hpp>
#include <rdmanet/state/attachment_store.hpp>

#include <chrono>
#include <string>

namespace rdmanet::attach {

/// The kernel destroys a namespace, and returns its devices, some time after its last user has gone. The worker waits
/// for RCU and destroys many namespaces at once (cleanup_net(), net/core/net_namespace.c).
inline constexpr std::chrono::seconds kReturnTimeout{15};

/// What a DEL or GC brings beyond the record: CNI_NETNS, CNI_PATH (plugins may have moved) and the network's present
/// configuration (it may have been corrected). Empty if no runtime calls.
struct Caller {
    std::string netns_path{};
    std::string cni_path{};
    std::string ipam_type{};
    std::string config{};
    /// How long to wait for the kernel to return devices, for all devices of one call together.
    base::Deadline returned_by = base::Deadline::in(kReturnTimeout);
    bool is_del = false; // the attachment's own DEL, and not GC or another pod's ADD
};

/// What a person does in place of undoing a step.
struct ByHand {
    std::string text{};
    bool needs_record = false; // `text` leaves out some of the recorded values
};

struct RevertContext {
    const state::AttachmentRecord& record;
    const Caller& caller;
    const state::AttachmentStore& records;
    const base::Logger& log;
    const base::Deadline& deadline;
    bool is_of_owner; // the attachment's own DEL, or the rollback of its ADD
};

[[nodiscard]] inline NameKeeper name_keeper(const RevertContext& context) {
    return {.records = context.records, .boot_id = context.record.boot_id, .log = context.log};
}

} // namespace rdmanet::attach
