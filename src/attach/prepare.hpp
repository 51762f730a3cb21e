// The part of an ADD that changes nothing, which a dry run is: from the request to what is to be done.
#pragma once

#include "plan.hpp"

#include <rdmanet/state/attachment_record.hpp>

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace rdmanet::attach {

struct Prepared {
    PodSide pod;
    Plan plan;
    state::AttachmentRecord record; // as it is first written, but for the leases
};

/// What was left in the way by earlier attachments is to go, or to be taken for gone. `device` is what moves, as
/// records name it.
using ClearTheWay = std::function<void(PodSide& pod, const std::optional<std::string>& device)>;

/// Everything that is before an ADD's first change, but for `clear_the_way`. Throws what ADD throws then: CniError with
/// the cure for whatever would make it fail later.
[[nodiscard]] Prepared prepare(const cni::Request& request, const config::Config& config, Session& session,
                               const ClearTheWay& clear_the_way, const base::Deadline& deadline);

[[noreturn]] void refuse_taken_name(const cni::Request& request, std::string_view cure);

/// Of the RDMA device that stays on the host.
[[nodiscard]] const std::optional<kernel::RdmaPort>& shared_port_of(const Plan& plan);

/// As the pod sees it.
[[nodiscard]] std::string rdma_device_of(const Plan& plan);

} // namespace rdmanet::attach
