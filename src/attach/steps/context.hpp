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

/// The kernel destroys a namespace, and returns what was in it, some time after its last user has gone: the worker that
/// does so waits for RCU and takes many at once (cleanup_net(), net/core/net_namespace.c).
inline constexpr std::chrono::seconds kReturnTimeout{15};

/// What the call that undoes says beyond the record: CNI_NETNS; CNI_PATH, where plugins may have moved to; and the
/// network's present configuration, which may have been corrected since. Empty where nobody calls.
struct Caller {
    std::string netns_path{};
    std::string cni_path{};
    std::string ipam_type{};
    std::string config{};
    /// Until then the kernel may take to return what pods have: for all devices of one call together.
    base::Deadline returned_by = base::Deadline::in(kReturnTimeout);
    bool is_del = false; // of the attachment itself: GC and other pods' ADDs undo for somebody else
};

struct RevertContext {
    const state::AttachmentRecord& record;
    const Caller& caller;
    const state::AttachmentStore& records;
    const base::Logger& log;
    const base::Deadline& deadline;
    bool is_of_owner; // in the attachment's own DEL, or in the rollback of its ADD
};

[[nodiscard]] inline NameKeeper name_keeper(const RevertContext& context) {
    return {.records = context.records, .boot_id = context.record.boot_id, .log = context.log};
}

} // namespace rdmanet::attach
