// What a reboot leaves in the cluster: the pods are gone, and their DEL may never come.
#pragma once

#include "api.hpp"

#include <rdmanet/base/deadline.hpp>
#include <rdmanet/kube/api.hpp>

#include <functional>
#include <optional>
#include <string>

namespace rdmanet::cluster {

/// Looks for the reservations that this machine made in an earlier boot, and gives their addresses back. Returns the
/// UID of the node's Node object, empty if it can't be had; nullopt if it is too early to say whose they are, or no
/// time is left: then the next call looks. What this user may not look for is only a warning. Throws ipam::StoreError.
[[nodiscard]] std::optional<std::string> give_back_earlier_boot(kube::Api& api, WhereaboutsApi& objects,
                                                                const ThisNode& node,
                                                                const std::function<void(const std::string&)>& warn,
                                                                const base::Deadline& deadline);

} // namespace rdmanet::cluster
