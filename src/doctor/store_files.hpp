// The files by which a network's addresses are reached: kubeconfigs, and certificates for etcd.
#pragma once

#include "context.hpp"

#include <rdmanet/ipam/config.hpp>

#include <string>

namespace rdmanet::doctor {

/// Reports those that are absent, or not what they should be. `place` is the network's. Throws base::SystemError for a
/// file that this user must not read.
void examine_store_files(const std::string& place, const ipam::StoreChoice& store, const Context& context,
                         Findings& found);

} // namespace rdmanet::doctor
