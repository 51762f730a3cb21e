// Mode and MTU of IPoIB interfaces.
//
// In datagram mode, an interface takes the MTU of its broadcast group when it joins the group, some time after it came
// up. In connected mode it keeps its own MTU (ipoib_mcast_join_finish(),
// drivers/infiniband/ulp/ipoib/ipoib_multicast.c).
#pragma once

#include <rdmanet/config/config.hpp>
#include <rdmanet/kernel/link.hpp>

#include <optional>

namespace rdmanet::attach {

/// The child as configured. What is not configured is taken from the parent.
[[nodiscard]] kernel::Ipoib ipoib_child(const config::Config& config, const kernel::Link& parent);

/// The largest MTU that the child can have, as far as that is known before it joins its group.
[[nodiscard]] unsigned most_mtu_of_ipoib(const config::Config& config, const kernel::Link& parent);

/// The MTU that an IPoIB child will keep; nullopt if it is not known before the child joins its group. `parent` has
/// joined its own group; it is null if the interface is not a child.
[[nodiscard]] std::optional<unsigned> mtu_when_joined(const kernel::Link& link, const kernel::Link* parent);

/// The same for a device that is up in the pod. `pf` is the interface of the VF's PF, or null. PF and VF are in the
/// same broadcast group if they have the same partition key.
[[nodiscard]] std::optional<unsigned> mtu_of_device_when_joined(const kernel::Link& link, const kernel::Link* pf);

[[nodiscard]] bool is_connected(const kernel::Link& link);

} // namespace rdmanet::attach
