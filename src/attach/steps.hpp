// Undoing single steps. Doing them is add.cpp's matter: there each has its own results.
#pragma once

#include "rdma_names.hpp"

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/logger.hpp>
#include <rdmanet/kernel/netns.hpp>
#include <rdmanet/state/attachment_record.hpp>
#include <rdmanet/state/attachment_store.hpp>

#include <optional>
#include <string>

namespace rdmanet::attach {

/// What the call that undoes says beyond the record: CNI_NETNS; CNI_PATH, where plugins may have moved to; and the
/// network's present configuration, which may have been corrected since. Empty where nobody calls.
struct Caller {
    std::string netns_path{};
    std::string cni_path{};
    std::string ipam_type{};
    std::string config{};
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

/// `interface "net1"`, `addresses of IPAM plugin "dhcp"`: what is still held if the step can't be undone.
[[nodiscard]] std::string describe(const state::Step& step);

/// Whether it takes a device's net device or RDMA device into the pod.
[[nodiscard]] bool is_move(const state::Step& step);

/// Whether `step` stays done while `other`, whose undo comes before its own, has failed: how a device is set up, and
/// what its next driver finds, is no matter of the host's before the device is there.
[[nodiscard]] bool waits_for(const state::Step& step, const state::Step& other);

/// The attachment, its pod and its addresses.
[[nodiscard]] std::string describe(const state::AttachmentRecord& record);

/// Undoes a step that was done, half done or never begun; safe to repeat. Throws if something is left.
void revert(const state::Step& step, const RevertContext& context);

/// The namespace of the record, by the record's path or by `netns_path`, if one of them still leads to it.
[[nodiscard]] std::optional<kernel::Netns> find_recorded_netns(const state::AttachmentRecord& record,
                                                               const std::string& netns_path);

} // namespace rdmanet::attach
