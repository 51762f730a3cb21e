// Interfaces of no bus (dummy, veth), which "host-device" moves as well: known by index, kind and MAC, and lost with
// the namespace that they are in.
#pragma once

#include "check_context.hpp"
#include "context.hpp"
#include "findings.hpp"
#include "step.hpp"

#include "lookup/pod_side.hpp"
#include "owners/attachment.hpp"

#include <rdmanet/base/file_lock.hpp>
#include <rdmanet/config/config.hpp>
#include <rdmanet/kernel/link.hpp>
#include <rdmanet/kernel/rdma.hpp>

#include <memory>
#include <optional>
#include <string>

namespace rdmanet::attach {

/// Reads the kernel and changes nothing. Throws CniError with the cure for whatever would make the ADD fail later.
[[nodiscard]] FoundInterface plan_interface(const std::string& name, const cni::Request& request,
                                            const config::Config& config, const Attachment& attachment, PodSide& pod,
                                            const base::Deadline& deadline);

/// As revert().
[[nodiscard]] std::string describe_step(const state::MoveInterface& step);
void revert_step(const state::MoveInterface& step, const RevertContext& context);

/// Null if the attachment needs none.
[[nodiscard]] std::unique_ptr<Step> make_move_interface(const AddContext& context, const Findings& found);

/// Throws CniError (code 107) for what differs.
void check_move_interface(const CheckContext& context);

} // namespace rdmanet::attach
