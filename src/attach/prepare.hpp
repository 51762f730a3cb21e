// The part of an ADD that changes nothing, which a dry run is: from the request to what is to be done.
#pragma once

#include "plan.hpp"

#include <rdmanet/state/attachment_record.hpp>

#include <optional>
#include <string>
#include <string_view>

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
    PodSide pod;
    Plan plan;
    state::AttachmentRecord record; // as it is first written, but for the leases
};

/// Everything else that is before an ADD's first change. What earlier attachments left is undone or disregarded by now.
/// Throws CniError with the cure for whatever would make the ADD fail later.
[[nodiscard]] Prepared prepare(const cni::Request& request, const config::Config& config, const Attachment& attachment,
                               Target target, const base::Deadline& deadline);

[[noreturn]] void refuse_taken_name(const cni::Request& request, std::string_view cure);

/// Of the RDMA device that stays on the host.
[[nodiscard]] const std::optional<kernel::RdmaPort>& shared_port_of(const Plan& plan);

/// As the pod sees it.
[[nodiscard]] std::string rdma_device_of(const Plan& plan);

} // namespace rdmanet::attach
