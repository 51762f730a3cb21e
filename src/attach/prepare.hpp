// The part of an ADD that changes nothing, which a dry run is: from the request to what is to be done.
#pragma once

#include "lookup/device_find.hpp"
#include "lookup/pod_side.hpp"
#include "owners/attachment.hpp"
#include "steps/findings.hpp"
#include "steps/step.hpp"

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/cni/request.hpp>
#include <rdmanet/config/config.hpp>
#include <rdmanet/state/attachment_record.hpp>

#include <optional>

namespace rdmanet::attach {

/// What the ADD is about, found before the attachment's lock is taken.
struct Target {
    PodSide pod;
    std::optional<Movable> moving;
};

/// Throws CniError for what no plan can mend.
[[nodiscard]] Target find_target(const cni::Request& request, const config::Config& config,
                                 const Attachment& attachment, const base::Deadline& deadline);

struct Prepared {
    Findings found;
    Steps steps;
    state::AttachmentRecord record; // as it is first written, but for the leases
};

/// Everything else that is before an ADD's first change. What earlier attachments left is undone or disregarded by now.
/// Throws CniError with the cure for whatever would make the ADD fail later.
[[nodiscard]] Prepared prepare(const AddContext& context, const std::optional<Movable>& moving);

} // namespace rdmanet::attach
