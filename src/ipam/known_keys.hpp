// The known keys of the `ipam` object.
#pragma once

#include <rdmanet/json/known_keys.hpp>

namespace rdmanet::ipam {

/// Warns of unknown keys of the object and its parts, and of keys that ask for addresses that are unique in the
/// cluster.
void warn_of_keys(const json::Reader& ipam, json::KeyWarnings& warnings);

} // namespace rdmanet::ipam
