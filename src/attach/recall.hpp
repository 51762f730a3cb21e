// A DEL that comes while an ADD of the same attachment runs.
//
// Runtimes send only one DEL, and an ADD may take longer than the runtime waits for it. Such a DEL recalls the ADD:
// the ADD then undoes itself instead of committing. Commit and recall exclude each other by a lock, so exactly one
// wins.
#pragma once

#include "lookup/call.hpp"

#include <rdmanet/base/file_lock.hpp>
#include <rdmanet/state/attachment_record.hpp>

namespace rdmanet::attach {

/// Ends an ADD: from now on its record says that it succeeded. Throws CniError (try again later) if a DEL has
/// recalled it. A recall that names another process is ignored, because container IDs are used again. `lock` is the
/// attachment's lock from lock_for_add().
void commit(state::AttachmentRecord& record, base::FileLock& lock, const Call& call);

/// Takes the attachment's lock for DEL. If an ADD does not commit within `patience`, recalls it and throws
/// TimeoutError.
[[nodiscard]] base::FileLock lock_or_recall(const Call& call, std::chrono::milliseconds patience);

/// Removes recalls of ADDs that have ended.
void forget_void_recalls(const Call& call);

} // namespace rdmanet::attach
