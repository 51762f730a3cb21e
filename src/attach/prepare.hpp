// The read-only part of ADD, which `rdmanet plan` also runs: from the request to the list of steps.
#pragma once

#include "lookup/pod_side.hpp"
#include "owners/attachment.hpp"
#include "steps/device_find.hpp"
#include "steps/findings.hpp"
#include "steps/step.hpp"

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/cni/request.hpp>
#include <rdmanet/config/config.hpp>
#include <rdmanet/state/attachment_record.hpp>

#include <optional>

namespace rdmanet::attach {

/// The pod and the device, found before the attachment's lock is taken.
struct Target {
    PodSide pod;
    std::optional<Movable> moving;
};

/// Throws CniError if ADD cannot succeed whatever the kernel holds.
[[nodiscard]] Target find_target(const cni::Request& request, const config::Config& config,
                                 const Attachment& attachment, const base::Deadline& deadline);

struct Prepared {
    Findings found;
    Steps steps;
    state::AttachmentRecord record; // as ADD first writes it, without the leases
};

/// Plans the steps. `locked_parent` is the parent that ADD has locked, if it has locked one. The caller has undone
/// what earlier attachments left, or ignores it (Attachment::disregarded). Throws CniError with the fix for
/// everything that would make ADD fail later.
[[nodiscard]] Prepared prepare(const AddContext& context, const std::optional<Movable>& moving,
                               const kernel::Link* locked_parent = nullptr);

} // namespace rdmanet::attach
