// Which keys of a network configuration mean something, and which features of peers this version does not have.
#pragma once

#include <rdmanet/json/known_keys.hpp>

#include <cstdint>

namespace rdmanet::config {

/// A child of a parent, or a device that moves: some keys mean something for one of them only.
enum class KeysOf : std::uint8_t { child, device };

/// Warns of keys of the whole configuration, of "rdma" and of "dns" that nobody knows (misspelt ones), or that ask a
/// peer for what is not done here. Not of "ipam", which is its plugin's.
void warn_of_keys(const json::Reader& root, KeysOf kind, json::KeyWarnings& warnings);

} // namespace rdmanet::config
