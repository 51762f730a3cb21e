// Where the leases of a network are kept, and what that place can't do.
#pragma once

#include <rdmanet/ipam/config.hpp>
#include <rdmanet/json/reader.hpp>

#include <string>

namespace rdmanet::ipam {

/// The store of the network, by its keys and by the node's file (see kNodeFile). Throws json::ValueError. Adds to
/// `config.warnings`. `root` is where the node's "/" is mounted, or empty.
void choose_store(const json::Reader& ipam, const std::string& root, Config& config);

} // namespace rdmanet::ipam
