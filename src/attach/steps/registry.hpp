// All kinds of steps, and the order of doing them.
#pragma once

#include "check_context.hpp"
#include "context.hpp"
#include "findings.hpp"
#include "step.hpp"

#include "lookup/device_find.hpp"

#include <rdmanet/state/step.hpp>

#include <optional>
#include <string>
#include <vector>

namespace rdmanet::attach {

/// What all steps find out before they are planned. `moving` is what moves, if anything does. Reads the kernel and
/// changes nothing. Throws CniError with the cure for whatever would make the ADD fail later, as far as it can be known
/// without a pod if there is none.
[[nodiscard]] Findings find_out(const PlanContext& context, const std::optional<Movable>& moving);

/// The steps of an ADD, in the order of doing. Throws as above.
[[nodiscard]] Steps plan_steps(const AddContext& context, const Findings& found);

[[nodiscard]] std::vector<state::Step> recorded(const Steps& steps);
/// AttachmentRecord::rdma_device
[[nodiscard]] std::string rdma_device_of(const Steps& steps);

/// Throws CniError (code 107) for the first difference.
void check_steps(const CheckContext& context);

// Steps as records have them.

/// As state::ReadStep: of all kinds that there are.
[[nodiscard]] state::Step read_step(const json::Reader& reader);

/// Records of earlier versions name the device of a VF's settings only once, in another step.
void name_device(state::Step& step, const std::string& device);

/// `interface "net1"`, `addresses of IPAM plugin "dhcp"`: what is still held if the step can't be undone.
[[nodiscard]] std::string describe(const state::Step& step);

/// Whether it takes a device's net device or RDMA device into the pod.
[[nodiscard]] bool is_move(const state::Step& step);

/// Whether `step` stays done while `other`, whose undo comes before its own, has failed.
[[nodiscard]] bool waits_for(const state::Step& step, const state::Step& other);

/// Whether what `owed` will do spoils `step`, which is undone already: then it is undone again.
[[nodiscard]] bool is_spoilt_by(const state::Step& step, const state::Step& owed);

/// Undoes a step that was done, half done or never begun; safe to repeat. Throws if something is left.
void revert(const state::Step& step, const RevertContext& context);

} // namespace rdmanet::attach
