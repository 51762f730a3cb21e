// A DEL that finds an ADD of its attachment under way, and can't wait for its end: runtimes send one DEL, and an ADD
// may take longer than they wait for that. The DEL then recalls the ADD, which undoes itself instead of committing.
// Commit and recall exclude each other, so exactly one of them comes first.
#pragma once

#include <rdmanet/attach/node.hpp>
#include <rdmanet/base/deadline.hpp>
#include <rdmanet/base/file_lock.hpp>
#include <rdmanet/state/attachment_record.hpp>
#include <rdmanet/state/attachment_store.hpp>

namespace rdmanet::attach {

/// The end of an ADD: its record says from now on that it succeeded. Throws CniError (try again later) if a DEL has
/// recalled it. A recall that names another process is void: container IDs are used again.
/// `lock`: the attachment's, as lock_for_add() gives it.
void commit(state::AttachmentRecord& record, base::FileLock& lock, const Node& node,
            const state::AttachmentStore& records, const base::Deadline& deadline);

/// The attachment's lock for DEL. An ADD that has not committed within `patience` is recalled, and TimeoutError thrown.
[[nodiscard]] base::FileLock lock_or_recall(const state::AttachmentKey& key, const Node& node,
                                            const state::AttachmentStore& records, std::chrono::milliseconds patience,
                                            const base::Deadline& deadline);

/// Removes recalls of processes that have ended.
void forget_void_recalls(const Node& node, const state::AttachmentStore& records, const base::Deadline& deadline);

} // namespace rdmanet::attach
