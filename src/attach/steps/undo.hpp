// What undoing a step needs beyond the step.
#pragma once

#include "lookup/call.hpp"

#include <rdmanet/state/attachment_record.hpp>

#include <string>

namespace rdmanet::attach {

/// What a person does in place of undoing a step.
struct ByHand {
    std::string text{};
    bool needs_record = false; // `text` leaves out some of the recorded values
};

struct Undo {
    const Call& call;
    const state::AttachmentRecord& record;
    bool is_of_owner; // the attachment's own DEL, or the rollback of its ADD
};

} // namespace rdmanet::attach
