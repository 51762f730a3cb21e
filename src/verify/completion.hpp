// What failed completions say.
#pragma once

#include "failure.hpp"

#include <infiniband/verbs.h>

namespace rdmanet::verify {

/// What the completion's status says of the way between the ends. It is not IBV_WC_SUCCESS.
[[nodiscard]] Failure failure_of(const ibv_wc& completion, bool is_infiniband);

} // namespace rdmanet::verify
