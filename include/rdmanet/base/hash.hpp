// A hash that is the same in every process and version, because its values are on disk and in MAC addresses.
#pragma once

#include <cstdint>
#include <string_view>

namespace rdmanet::base {

/// 64-bit FNV-1a (offset basis and prime: draft-eastlake-fnv, section 5), with the finalizer of SplitMix64 (Steele, Lea
/// and Flood, 2014) because FNV-1a alone spreads the last bytes poorly over the high bits.
[[nodiscard]] std::uint64_t hash64(std::string_view text);

} // namespace rdmanet::base
