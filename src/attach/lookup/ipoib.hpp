// What is particular to IPoIB children: mode and MTU. In datagram mode an interface falls to the MTU of its broadcast
// group when it joins, some time after it came up; in connected mode it keeps its own (ipoib_mcast_join_finish(),
// drivers/infiniband/ulp/ipoib/ipoib_multicast.c).
#pragma once

#include <rdmanet/config/config.hpp>
#include <rdmanet/kernel/link.hpp>

#include <optional>

namespace rdmanet::attach {

/// The configured child of `parent`; what isn't configured is as the parent is.
[[nodiscard]] kernel::Ipoib ipoib_child(const config::Config& config, const kernel::Link& parent);

/// The largest MTU that the child can have, as far as is known before it joins.
[[nodiscard]] unsigned most_mtu_of_ipoib(const config::Config& config, const kernel::Link& parent);

/// The MTU that an IPoIB interface will keep; nullopt if nobody knows before it joins. `parent` is the parent of a
/// child, which has joined.
[[nodiscard]] std::optional<unsigned> mtu_when_joined(const kernel::Link& link, const kernel::Link* parent);

/// As above, for a device that has come up in the pod. `pf` is the interface of a VF's PF, null if there is none: it is
/// in the same broadcast group if it has the same partition.
[[nodiscard]] std::optional<unsigned> mtu_of_device_when_joined(const kernel::Link& link, const kernel::Link* pf);

[[nodiscard]] bool is_connected(const kernel::Link& link);

} // namespace rdmanet::attach
