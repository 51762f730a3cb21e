// The known keys of a network configuration, and the peers' keys that have no effect in this version.
#pragma once

#include <rdmanet/json/known_keys.hpp>

#include <cstdint>

namespace rdmanet::config {

/// A child of a parent, or a device that moves: some keys have an effect for one of them only.
enum class KeysOf : std::uint8_t { child, device };

/// Warns of unknown keys in the configuration, in "rdma" and in "dns", and of peers' keys that ask for something that
/// rdmanet does not do. "ipam" is left to its plugin.
void warn_of_keys(const json::Reader& root, KeysOf kind, json::KeyWarnings& warnings);

} // namespace rdmanet::config
