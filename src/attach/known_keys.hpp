// Which keys of a network configuration mean something, and which features of peers this version does not have.
#pragma once

#include <rdmanet/json/reader.hpp>

#include <string>
#include <vector>

namespace rdmanet::attach {

/// Warns of keys of the whole configuration, of "rdma" and of "dns" that nobody knows (misspelt ones), or that ask a peer for
/// what is not done here. Not of "ipam", which is its plugin's.
void warn_of_keys(const json::Reader& root, std::vector<std::string>& warnings);

} // namespace rdmanet::attach
