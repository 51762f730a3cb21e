// Which keys of the `ipam` object mean something.
#pragma once

#include <rdmanet/json/known_keys.hpp>

namespace rdmanet::ipam {

/// Warns of keys, also of its parts, that ask for uniqueness in the whole cluster, and of keys that nobody knows
/// (misspelt ones).
void warn_of_keys(const json::Reader& ipam, json::KeyWarnings& warnings);

} // namespace rdmanet::ipam
