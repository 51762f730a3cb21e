// Where the addresses of a network are kept, and the kubeconfig by which they are reached.
#pragma once

#include "network_lint.hpp"

#include <rdmanet/ipam/config.hpp>

namespace rdmanet::doctor {

/// Reports a kubeconfig that is absent, or not what it should be, as report_misfit() does, and a range that other nodes
/// may give as well. Throws base::SystemError for a file that this user must not read.
void examine_store(const Network& network, const ipam::Config& ipam, const Context& context, Findings& found);

} // namespace rdmanet::doctor
