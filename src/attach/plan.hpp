// The read-only part of ADD, which `rdmanet plan` also runs: from the request to the list of steps.
#pragma once

#include "lookup/call.hpp"
#include "steps/device_find.hpp"
#include "steps/findings.hpp"
#include "steps/step.hpp"

#include <rdmanet/state/attachment_record.hpp>

#include <optional>

namespace rdmanet::attach {

/// Throws CniError if ADD cannot succeed whatever the kernel holds.
void require_possible(const Call& call);

struct Plan {
    Findings found;
    Steps steps;
    state::AttachmentRecord record; // as ADD first writes it, without the leases
};

/// `locked_parent` is the parent that ADD has locked, if it has locked one. The caller has undone what earlier
/// attachments left, or ignores it (Call::disregarded). Throws CniError with the fix for everything that would make
/// ADD fail later.
[[nodiscard]] Plan plan(const Call& call, const std::optional<Movable>& moving,
                        const kernel::Link* locked_parent = nullptr);

} // namespace rdmanet::attach
