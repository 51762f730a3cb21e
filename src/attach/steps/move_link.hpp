// Moves a device's net device into the pod and back.
#pragma once

#include "step.hpp"

#include <rdmanet/kernel/link.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace rdmanet::attach {

/// Throws CniError if an alternative name of the link is taken in the pod.
void require_free_names(const std::string& device, const kernel::Link& link, const Call& call);

/// Moves the link from the host into the pod and renames it. It is down there. nullopt if it is not in the pod
/// afterwards.
[[nodiscard]] std::optional<kernel::Link> move_into_pod(const Call& call, const kernel::Link& link,
                                                        const std::optional<base::MacAddress>& mac);

/// Puts the moved interface into the result.
void conclude_link(const kernel::Link& link, Conclusion& end);

/// `move interface "ens1" into the pod as "net1", MTU 1500 -> 9000`, for `rdmanet plan`.
[[nodiscard]] std::string move_text(const Call& call, const kernel::Link& link);

} // namespace rdmanet::attach
