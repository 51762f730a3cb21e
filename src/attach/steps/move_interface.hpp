// Interfaces of no bus (dummy, veth), which "host-device" moves as well: known by index, kind and MAC, and lost with
// the namespace that they are in.
#pragma once

#include "context.hpp"

#include "lookup/pod_side.hpp"
#include "owners/attachment.hpp"

#include <rdmanet/base/file_lock.hpp>
#include <rdmanet/config/config.hpp>
#include <rdmanet/kernel/link.hpp>
#include <rdmanet/kernel/rdma.hpp>

#include <optional>
#include <string>

namespace rdmanet::attach {

struct InterfacePlan {
    kernel::Link link; // on the host
    std::optional<base::MacAddress> mac{};
    std::optional<kernel::RdmaPort> rdma{}; // never: as other plans
    std::optional<base::FileLock> claim{};  // of the interface, until the record is written
};

/// Reads the kernel and changes nothing. Throws CniError with the cure for whatever would make the ADD fail later.
[[nodiscard]] InterfacePlan plan_interface(const std::string& name, const cni::Request& request,
                                           const config::Config& config, const Attachment& attachment, PodSide& pod,
                                           const base::Deadline& deadline);

/// The interface as the journal describes it before it is in the pod.
[[nodiscard]] state::MoveInterface interface_step(const cni::Request& request, const InterfacePlan& plan,
                                                  const base::Deadline& deadline, const base::Logger& log);

/// Returns the link in the pod, which is down.
[[nodiscard]] kernel::Link move_interface(const cni::Request& request, const config::Config& config,
                                          const InterfacePlan& plan, PodSide& pod, const base::Deadline& deadline);

/// As revert().
void revert_step(const state::MoveInterface& step, const RevertContext& context);

} // namespace rdmanet::attach
