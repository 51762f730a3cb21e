// What is found out about a device that is to move: a VF or a whole function.
#pragma once

#include "findings.hpp"

#include "lookup/pod_side.hpp"
#include "owners/attachment.hpp"

#include <rdmanet/base/bus_address.hpp>
#include <rdmanet/base/deadline.hpp>
#include <rdmanet/cni/request.hpp>
#include <rdmanet/config/config.hpp>

namespace rdmanet::attach {

/// Reads the kernel and changes nothing. Throws CniError with the cure for whatever would make the ADD fail later,
/// among it that the device is another attachment's.
[[nodiscard]] FoundDevice plan_device(const cni::Request& request, const config::Config& config,
                                      const Attachment& attachment, PodSide& pod, const base::BusAddress& address,
                                      const base::Deadline& deadline);

} // namespace rdmanet::attach
