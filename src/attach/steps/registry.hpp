// The kinds of steps all together, and the steps of records.
#pragma once

#include "device_find.hpp"
#include "step.hpp"
#include "undo.hpp"

#include <rdmanet/state/step.hpp>

#include <optional>
#include <string>
#include <vector>

namespace rdmanet::attach {

/// Finds out what the steps are planned from. `moving` is the device or interface that moves, if there is one;
/// `locked_parent` the parent that ADD has locked. Reads the kernel and changes nothing. Throws CniError with the fix
/// for everything that would make ADD fail later, as far as that is known without a pod.
[[nodiscard]] Findings find(const Call& call, const std::optional<Movable>& moving,
                            const kernel::Link* locked_parent = nullptr);

/// The steps of an ADD, in the order of applying them. Throws as above.
[[nodiscard]] Steps make(const Call& call, const Findings& found);

[[nodiscard]] std::vector<state::Step> recorded(const Steps& steps);
/// AttachmentRecord::rdma_device
[[nodiscard]] std::string rdma_device_of(const Steps& steps);

/// Throws CniError (code 107) for the first difference.
void check_steps(const Comparison& compared);

// Functions for steps of records.

/// What is still held if the step cannot be undone: `interface "net1"`, `addresses of IPAM plugin "dhcp"`.
[[nodiscard]] std::string describe(const state::Step& step);

/// The same for a step that is dropped and not undone, with what a person does about it, and the recorded values that
/// this does not name.
[[nodiscard]] std::string describe_unreverted(const state::Step& step, const base::Deadline& deadline);

/// Whether the step moved a net device or an RDMA device into the pod.
[[nodiscard]] bool is_move(const state::Step& step);

/// Whether `step` must not be undone while the undo of `other` has failed.
[[nodiscard]] bool waits_for(const state::Step& step, const state::Step& other);

/// Whether undoing `later` will change what undoing `step` has done. Then `step` is undone again.
[[nodiscard]] bool is_spoilt_by(const state::Step& step, const state::Step& later);

/// Undoes a step that was applied, half applied or never begun. Safe to repeat. Throws if something is left.
void revert(const state::Step& step, const Undo& undo);

} // namespace rdmanet::attach
