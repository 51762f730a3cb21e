// VF settings between the kernel and the journal.
#pragma once

#include <rdmanet/base/bus_address.hpp>
#include <rdmanet/kernel/device.hpp>
#include <rdmanet/kernel/vf.hpp>
#include <rdmanet/state/step.hpp>

namespace rdmanet::attach {

/// The step that is undone by setting `before` again.
[[nodiscard]] state::SetVf to_step(const base::BusAddress& vf, const kernel::VfOf& of,
                                   const kernel::VfSettings& before);

[[nodiscard]] state::VfSettings to_recorded(const kernel::VfSettings& settings);
[[nodiscard]] kernel::VfSettings to_settings(const state::VfSettings& recorded);

} // namespace rdmanet::attach
