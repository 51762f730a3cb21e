// The kubeconfig by which a network's addresses are reached.
#pragma once

#include "network_lint.hpp"

#include <rdmanet/ipam/config.hpp>

namespace rdmanet::doctor {

/// Reports those that are absent, or not what they should be, as report_misfit() does. Throws base::SystemError for a
/// file that this user must not read.
void examine_store_files(const Network& network, const ipam::StoreChoice& store, const Context& context,
                         Findings& found);

} // namespace rdmanet::doctor
